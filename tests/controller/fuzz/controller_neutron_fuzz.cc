#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "config/config_file.h"
#include "controller/backends/neutron/client/clouds_file.h"
#include "controller/backends/neutron/client/decode.h"
#include "controller/backends/neutron/client/refusal.h"
#include "controller/backends/neutron/client/token.h"

namespace kuryr::controller::neutron {
namespace {

void Require(bool fact) {
  if (!fact) std::abort();
}

/// Requires what a subnet's reader relies on.
void Check(const Subnet& subnet) {
  Require(!subnet.gateway || subnet.gateway->family == subnet.cidr.address.family);
}

void DecodeAs(uint8_t kind, std::string_view body) {
  switch (kind % 16) {
    case 0:
      Require(DecodeNetwork(body).mtu <= 65535);
      break;
    case 1:
      Check(DecodeSubnet(body));
      break;
    case 2:
      for (const Subnet& subnet : DecodeSubnets(body)) Check(subnet);
      break;
    case 3:
      Require(DecodePort(body).id.size() == 36);
      break;
    case 4:
      for (const Port& port : DecodePorts(body).items) Require(port.id.size() == 36);
      break;
    case 5:
      for (const std::string& id : DecodePortIds(body)) Require(id.size() == 36);
      break;
    case 6:
      (void)HasExtension(body, "agent");
      break;
    case 7:
      Require(DecodePortQuota(body).limit >= -1);
      break;
    case 8:
      for (const NodePort& port : DecodeNodePorts(body).items) {
        for (const SubPort& sub_port : port.sub_ports) Require(sub_port.vlan <= 4094);
      }
      break;
    default:
      Require(DecodeTokenAnswer(body, {.interfaces = {"public"}}).lifetime.count() > 0);
  }
}

/// A refusal never shows the token.
void Refuse(uint8_t kind, std::string_view body) {
  const HttpRequest request{.what = "ask", .method = "POST", .token = "t0ken"};
  const HttpAnswer answer{.status = 400 + kind, .body = std::string(body)};
  const std::string text = RefusalOf(request, answer).what();
  Require(text.find("t0ken") == std::string::npos);
}

}  // namespace
}  // namespace kuryr::controller::neutron

/// Answers of Neutron and Keystone, and clouds.yaml, are read or refused by name.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kuryr;
  namespace neutron = controller::neutron;
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data + 1), size - 1);
  neutron::Refuse(data[0], body);
  try {
    if (data[0] >= 0xf0) {
      (void)neutron::ParseCloud("clouds.yaml", std::string(body), "c");
    } else {
      neutron::DecodeAs(data[0], body);
    }
  } catch (const ParseError&) {
    return 0;
  } catch (const ConfigError&) {
    return 0;
  }
  return 0;
}
