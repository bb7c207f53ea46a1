#include "controller/backends/neutron/client/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/controller/backends/neutron/client/recorded.h"

namespace kuryr::controller::neutron {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Answer(const std::string& name) { return json::parse(Load(name).answer); }

/// Why the recorded answer is refused when the value at `pointer` is another.
template <typename Decode>
std::string Refusal(json answer, const std::string& pointer, const json& value, Decode decode) {
  answer[json::json_pointer(pointer)] = value;
  try {
    (void)decode(answer.dump());
    return "none";
  } catch (const ParseError& e) {
    return e.what();
  }
}

TEST(DecodeTest, AFieldOfTheWrongTypeIsNamed) {
  const std::map<std::string, std::pair<json, std::string>> mutations = {
      {"/port/id", {"no-uuid", "$.port.id: found \"no-uuid\", expected a UUID"}},
      {"/port/network_id", {nullptr, "$.port.network_id: is missing, expected a UUID"}},
      {"/port/mac_address", {"fa:16", "$.port.mac_address: found \"fa:16\", expected a MAC"}},
      {"/port/name", {json::array(), "$.port.name: found an array, expected a string"}},
      {"/port/status", {1, "$.port.status: found 1, expected a string"}},
      {"/port/fixed_ips", {"x", "$.port.fixed_ips: found \"x\", expected a list"}},
      {"/port/fixed_ips/1", {7, "$.port.fixed_ips[1]: found 7, expected an object"}},
      {"/port/fixed_ips/0/ip_address", {"10.0.0", "$.port.fixed_ips[0].ip_address: found"}},
      {"/port/fixed_ips/0/subnet_id", {"", "$.port.fixed_ips[0].subnet_id: found \"\""}},
      {"/port/tags", {json::array({1}), "$.port.tags[0]: found 1, expected a string"}},
      {"/port/binding:vif_details", {"x", "$.port['binding:vif_details']: found \"x\""}},
      {"/port/binding:vif_details/port_filter", {"yes", "expected true or false"}},
      {"/port/binding:vif_details/bridge_name", {"br/../x", "1 to 15 printable"}}};
  for (const auto& [pointer, expected] : mutations) {
    EXPECT_THAT(Refusal(Answer("port-create"), pointer, expected.first, DecodePort),
                HasSubstr(expected.second))
        << pointer;
  }
}

TEST(DecodeTest, AFieldOfASubnetOrNetworkOfTheWrongTypeIsNamed) {
  EXPECT_THAT(Refusal(Answer("subnet-get"), "/subnet/gateway_ip", "fd00::1", DecodeSubnet),
              HasSubstr("$.subnet.gateway_ip: found \"fd00::1\", expected an address of cidr's"));
  EXPECT_THAT(Refusal(Answer("subnet-get"), "/subnet/cidr", "10.0.0.0/33", DecodeSubnet),
              HasSubstr("$.subnet.cidr: found"));
  EXPECT_THAT(Refusal(Answer("subnet-get"), "/subnet/host_routes/0/nexthop", 1, DecodeSubnet),
              HasSubstr("$.subnet.host_routes[0].nexthop: found 1"));
  EXPECT_THAT(Refusal(Answer("subnet-get"), "/subnet/dns_nameservers/0", "dns", DecodeSubnet),
              HasSubstr("$.subnet.dns_nameservers[0]: found \"dns\""));
  for (const json& mtu : {json(-1), json(65536), json(1450.5), json("1450"), json(UINT64_MAX)}) {
    EXPECT_THAT(Refusal(Answer("network-get"), "/network/mtu", mtu, DecodeNetwork),
                HasSubstr("expected a number from 0 to 65535"));
  }
}

TEST(DecodeTest, ANetworkWithoutAnMtuHasNone) {
  json answer = Answer("network-get");
  answer["network"]["mtu"] = nullptr;

  EXPECT_EQ(DecodeNetwork(answer.dump()).mtu, 0U);
}

TEST(DecodeTest, AVlanNetworkHasItsId) {
  json answer = Answer("network-get");
  answer["network"]["provider:network_type"] = "vlan";
  answer["network"]["provider:segmentation_id"] = 101;
  EXPECT_EQ(DecodeNetwork(answer.dump()).vlan, 101);

  answer["network"]["provider:segmentation_id"] = 4095;
  EXPECT_THROW((void)DecodeNetwork(answer.dump()), ParseError);
}

TEST(DecodeTest, ASlaacSubnetIsOne) {
  json answer = Answer("subnet-get");
  for (const auto& [mode, expected] :
       {std::pair("slaac", true), std::pair("dhcpv6-stateless", true),
        std::pair("dhcpv6-stateful", false)}) {
    answer["subnet"]["ipv6_address_mode"] = mode;
    EXPECT_EQ(DecodeSubnet(answer.dump()).is_slaac, expected) << mode;
  }
}

TEST(DecodeTest, APortWhoseBindingIsHiddenHasNone) {
  json answer = Answer("port-get");
  for (const char* field :
       {"binding:host_id", "binding:vif_type", "binding:vif_details", "binding:vnic_type"})
    answer["port"].erase(field);

  const Port port = DecodePort(answer.dump());

  EXPECT_EQ(port.vif_type, "");
  EXPECT_EQ(port.vif_details, VifDetails());
}

}  // namespace
}  // namespace kuryr::controller::neutron
