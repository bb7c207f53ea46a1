#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "cni/protocol/result.h"
#include "tests/cni/fuzz/properties.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

/// The part of a result that versions before 1.1.0 have.
Result Older(Result result) {
  for (ResultInterface& interface : result.interfaces) {
    interface.mtu = 0;
    interface.socket_path.clear();
    interface.pci_id.clear();
  }
  for (ResultRoute& route : result.routes)
    route = {.destination = route.destination, .gateway = route.gateway};
  return result;
}

Result Added() {
  Result result;
  result.interfaces = {{.name = "veth7", .mac = "02:00:00:00:00:01", .mtu = 1450},
                       {.name = "eth7", .mtu = 1450, .sandbox = "/run/netns/a"}};
  result.ips = {{.address = *IpNetwork::Parse("10.0.0.7/24"), .interface = 1},
                {.address = *IpNetwork::Parse("fd00::7/64"), .interface = 1}};
  result.routes = {{.destination = *IpNetwork::Parse("0.0.0.0/0"), .mtu = 1400}};
  result.dns.nameservers = {"10.0.0.2"};
  return result;
}

/// An encoded result decodes to the same result, whatever version the decoder is given.
void CheckEncoding(const Result& result, SpecVersion version) {
  if (version < SpecVersion::k030 && result.ips.empty()) return;
  const json told = EncodeResult(result, version);
  const Result decoded = DecodeResult(told, SpecVersion::k010);
  Require(json(EncodeResult(decoded, version)) == told);
  if (version >= SpecVersion::k030)
    Require(decoded == (version < SpecVersion::k110 ? Older(result) : result));
}

template <typename T>
void RequireJoined(const std::vector<T>& all, std::vector<T> first, const std::vector<T>& second) {
  first.insert(first.end(), second.begin(), second.end());
  Require(all == first);
}

/// The chain's result and ours behind it.
void CheckChain(const json& previous, const Result& decoded, SpecVersion version) {
  const Result added = Added();
  const Result all =
      DecodeResult(AppendResult(previous, decoded, added, version), SpecVersion::k010);
  Require(all.dns == (decoded.dns.empty() ? added.dns : decoded.dns));
  if (version < SpecVersion::k030) return;
  Result ours = Older(added);
  for (ResultIp& ip : ours.ips) *ip.interface += decoded.interfaces.size();
  const Result before = Older(decoded);
  RequireJoined(Older(all).interfaces, before.interfaces, ours.interfaces);
  RequireJoined(all.ips, before.ips, ours.ips);
  RequireJoined(Older(all).routes, before.routes, ours.routes);
}

void Check(std::string_view text) {
  const json object = ParseJson(text);
  for (const std::string_view name : kSupportedVersions) {
    const SpecVersion version = *ParseVersion(name);
    const Result result = DecodeResult(object, version);
    CheckEncoding(result, version);
    try {
      CheckChain(object, result, version);
    } catch (const CniError& e) {
      // Neither has what the oldest versions can tell.
      Require(version < SpecVersion::k030 && result.ips.empty());
      RequireTold(e);
    }
  }
}

}  // namespace
}  // namespace kuryr::cni

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    kuryr::cni::Check({reinterpret_cast<const char*>(data), size});
  } catch (const kuryr::ParseError& e) {
    kuryr::cni::Require(!kuryr::cni::HasControlCharacter(e.what()));
  }
  return 0;
}
