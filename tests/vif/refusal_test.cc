#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "tests/vif/samples.h"
#include "vif/pod_vifs.h"
#include "vif/vif.h"

namespace kuryr::vif {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kData = "/versioned_object.data";

/// The active VIFOpenVSwitch sample with `value` at a place that skips the envelopes:
/// "/network/mtu", "/network/subnets/0/cidr".
json With(const std::string& place, const json& value) {
  json vif = JsonSample("vif/ovs-native-ipv4-active.json");
  json* object = &vif;
  size_t at = 1;
  while (at <= place.size()) {
    const size_t end = std::min(place.find('/', at), place.size());
    const std::string step = place.substr(at, end - at);
    if (object->is_object()) object = &object->at(json::json_pointer(kData));
    if (object->contains("objects")) object = &object->at("objects");
    object = object->is_array() ? &object->at(std::stoul(step)) : &(*object)[step];
    at = end + 1;
  }
  *object = value;
  return vif;
}

struct Refused {
  std::string place;
  json value;
  std::string path;
  std::string expected;
};

void PrintTo(const Refused& refused, std::ostream* out) { *out << refused.path; }

class RefusalTest : public testing::TestWithParam<Refused> {};

TEST_P(RefusalTest, NamesThePathAndWhatWasExpected) {
  const json vif = With(GetParam().place, GetParam().value);

  try {
    static_cast<void>(DecodeVif(vif));
    ADD_FAILURE() << "accepted";
  } catch (const ParseError& e) {
    EXPECT_EQ(e.path(), GetParam().path);
    EXPECT_THAT(e.reason(), HasSubstr("expected " + GetParam().expected));
    EXPECT_THAT(e.reason(), HasSubstr("found "));
  }
}

const std::string kName = "an interface name";
const Refused kRefused[] = {
    {"/id", "not-a-uuid", "$.id", "a UUID"},
    {"/id", "450e5c61-dc7c-5f0d-84da-bc7052e8b54", "$.id", "a UUID"},
    {"/id", "450e5c61-dc7c-5f0d-84da-bc7052e8b5411", "$.id", "a UUID"},
    {"/id", "450e5c61-dc7c-5f0d-84da-bc7052e8b54g", "$.id", "a UUID"},
    {"/id", "../../../../etc/passwd", "$.id", "a UUID"},
    {"/id", 7, "$.id", "a UUID"},
    {"/address", "fa:16:3e:80:d4", "$.address", "a MAC address"},
    {"/address", "fa:16:3e:80:d4:zz", "$.address", "a MAC address"},
    {"/address", 1, "$.address", "a MAC address"},
    {"/plugin", json::array(), "$.plugin", "a string"},
    {"/plugin", nullptr, "$.plugin", "a string"},
    {"/active", "false", "$.active", "true or false"},
    {"/active", 1, "$.active", "true or false"},
    {"/active", nullptr, "$.active", "true or false"},
    {"/vif_name", "", "$.vif_name", kName},
    {"/vif_name", ".", "$.vif_name", kName},
    {"/vif_name", "..", "$.vif_name", kName},
    {"/vif_name", "a/b", "$.vif_name", kName},
    {"/vif_name", "a:b", "$.vif_name", kName},
    {"/vif_name", "a b", "$.vif_name", kName},
    {"/vif_name", "a\tb", "$.vif_name", kName},
    {"/vif_name", std::string("a\0b", 3), "$.vif_name", kName},
    {"/vif_name", "caf\u00e9", "$.vif_name", kName},
    {"/vif_name", "sixteen-bytes-xx", "$.vif_name", kName},
    {"/bridge_name", "br int", "$.bridge_name", kName},
    {"/network", "net", "$.network", "a versioned object"},
    {"/network/id", "", "$.network.id", "a UUID"},
    {"/network/bridge", "../br", "$.network.bridge", kName},
    {"/network/bridge_interface", "", "$.network.bridge_interface", kName},
    {"/network/label", 1.5, "$.network.label", "a string"},
    {"/network/mtu", "1450", "$.network.mtu", "an MTU"},
    {"/network/mtu", 67, "$.network.mtu", "an MTU"},
    {"/network/mtu", 65536, "$.network.mtu", "an MTU"},
    {"/network/mtu", -1, "$.network.mtu", "an MTU"},
    {"/network/mtu", 1450.0, "$.network.mtu", "an MTU"},
    {"/network/mtu", 18446744073709551615U, "$.network.mtu", "an MTU"},
    {"/network/vlan", 0, "$.network.vlan", "a VLAN id"},
    {"/network/vlan", 4095, "$.network.vlan", "a VLAN id"},
    {"/network/vlan", 65637, "$.network.vlan", "a VLAN id"},
    {"/network/multi_host", "no", "$.network.multi_host", "true or false"},
    {"/network/subnets", nullptr, "$.network.subnets", "a versioned object"},
    {"/network/subnets", json::array(), "$.network.subnets", "a versioned object"},
    {"/network/subnets/0", 3, "$.network.subnets[0]", "a versioned object"},
    {"/network/subnets/0/cidr", "10.1.0.0/33", "$.network.subnets[0].cidr", "a CIDR"},
    {"/network/subnets/0/cidr", "10.1.0.0/", "$.network.subnets[0].cidr", "a CIDR"},
    {"/network/subnets/0/cidr", "10.1.0.0/16/8", "$.network.subnets[0].cidr", "a CIDR"},
    {"/network/subnets/0/dns", "8.8.8.8", "$.network.subnets[0].dns", "a list"},
    {"/network/subnets/0/dns/1", "8.8.8", "$.network.subnets[0].dns[1]", "an IP address"},
    {"/network/subnets/0/dns/1", 134744072, "$.network.subnets[0].dns[1]", "an IP address"},
    {"/network/subnets/0/dns/1", nullptr, "$.network.subnets[0].dns[1]", "an IP address"},
    {"/network/subnets/0/gateway", "fe80::1%eth0", "$.network.subnets[0].gateway", "an IP address"},
    {"/network/subnets/0/ips/0/address", "10.1", "$.network.subnets[0].ips[0].address",
     "an IP address"},
    {"/port_profile/interface_id", "x", "$.port_profile.interface_id", "a UUID"},
    {"/port_profile/datapath_type", 4, "$.port_profile.datapath_type", "a string"},
    {"/port_profile", 4, "$.port_profile", "a versioned object"}};

INSTANTIATE_TEST_SUITE_P(EveryRule, RefusalTest, testing::ValuesIn(kRefused));

/// An encoded object with only these fields.
json Object(const std::string& name, const json& data) {
  return {{"versioned_object.name", name},
          {"versioned_object.namespace", "os_vif"},
          {"versioned_object.version", "1.0"},
          {"versioned_object.data", data}};
}

std::string DecodeRefusal(const json& primitive) {
  try {
    static_cast<void>(DecodeVif(primitive));
    return "accepted";
  } catch (const ParseError& e) {
    return e.what();
  }
}

TEST(RefusalOfKindTest, NamesThePath) {
  EXPECT_THAT(DecodeRefusal(Object("VIFVlanNested", {{"vlan_id", 0}})), HasSubstr("$.vlan_id: "));
  EXPECT_THAT(DecodeRefusal(Object("VIFVlanNested", {{"vlan_id", 4095}})),
              HasSubstr("$.vlan_id: "));
  EXPECT_THAT(DecodeRefusal(Object("VIFVlanNested", {{"vlan_id", "7"}})), HasSubstr("$.vlan_id: "));
  EXPECT_THAT(DecodeRefusal(Object("VIFDirect", {{"dev_address", "0000:03:20.1"}})),
              HasSubstr("$.dev_address: found \"0000:03:20.1\", expected a PCI address"));
  EXPECT_THAT(DecodeRefusal(Object("VIFDirect", {{"dev_address", "0000:03:10x1"}})),
              HasSubstr("$.dev_address: "));
  EXPECT_THAT(DecodeRefusal(Object("VIFDirect", {{"mode", "private"}})),
              HasSubstr("$.mode: found \"private\", expected one of vepa, passthrough, bridge"));
  EXPECT_THAT(DecodeRefusal(Object("VIFVHostUser", {{"mode", 1}})), HasSubstr("$.mode: "));
  EXPECT_THAT(DecodeRefusal(Object("VIFHostDevice", {{"dev_type", "pci"}})),
              HasSubstr("$.dev_type: "));
  EXPECT_THAT(DecodeRefusal(Object("VIFSriov", {{"vlan_name", "4095"}})),
              HasSubstr("$.vlan_name: "));
  EXPECT_THAT(DecodeRefusal(Object("VIFNestedDPDK", {{"pci_address", "../../x"}})),
              HasSubstr("$.pci_address: "));
  EXPECT_THAT(DecodeRefusal(Object("VIFNestedDPDK", {{"dev_driver", "../x"}})),
              HasSubstr("$.dev_driver: "));
}

TEST(RefusalOfKindTest, AcceptsTheEdges) {
  EXPECT_EQ(DecodeRefusal(Object("VIFVlanNested", {{"vlan_id", 1}})), "accepted");
  EXPECT_EQ(DecodeRefusal(Object("VIFVlanNested", {{"vlan_id", 4094}})), "accepted");
  EXPECT_EQ(DecodeRefusal(Object("VIFSriov", {{"vlan_name", "4094"}})), "accepted");
  EXPECT_EQ(
      DecodeRefusal(Object("VIFDirect", {{"vlan_name", ""}, {"dev_address", "FFFF:0A:1f.7"}})),
      "accepted");
  EXPECT_EQ(DecodeRefusal(With("/network/mtu", 68)), "accepted");
  EXPECT_EQ(DecodeRefusal(With("/network/mtu", 65535)), "accepted");
  EXPECT_EQ(DecodeRefusal(With("/vif_name", "fifteen-bytes-x")), "accepted");
  EXPECT_EQ(DecodeRefusal(With("/id", "450E5C61DC7C5F0D84DABC7052E8B541")), "accepted");
}

TEST(RefusalOfEnvelopeTest, NamesThePathOfTheMember) {
  json vif = JsonSample("vif/ovs-native-ipv4-active.json");
  const json::json_pointer network("/versioned_object.data/network");

  vif[network]["versioned_object.version"] = "2.0";
  EXPECT_EQ(DecodeRefusal(vif),
            "$.network['versioned_object.version']: found \"2.0\", expected a version 1.x");

  for (const char* const version : {"1", "1.", "1.x", "1.2.", "1.2.3.4", "10.0", "01.0", " 1.0"}) {
    vif[network]["versioned_object.version"] = version;
    EXPECT_THAT(DecodeRefusal(vif), HasSubstr("$.network['versioned_object.version']: "))
        << version;
  }
  for (const char* const version : {"1.0", "1.99", "1.2.3"}) {
    vif[network]["versioned_object.version"] = version;
    EXPECT_EQ(DecodeRefusal(vif), "accepted") << version;
  }
}

TEST(RefusalOfEnvelopeTest, ChangesAreAListOfNames) {
  json vif = JsonSample("vif/ovs-native-ipv4-active.json");

  vif["versioned_object.changes"] = nullptr;
  EXPECT_THAT(DecodeRefusal(vif), HasSubstr("$['versioned_object.changes']: found null"));
  vif["versioned_object.changes"] = json::array({"id", 3});
  EXPECT_THAT(DecodeRefusal(vif), HasSubstr("$['versioned_object.changes'][1]: found 3"));
}

TEST(RefusalOfEnvelopeTest, UnknownClassNamesTheKnownOnes) {
  EXPECT_THAT(DecodeRefusal(Object("VIFNoSuch", json::object())),
              HasSubstr("found \"VIFNoSuch\", expected one of VIFGeneric, VIFBridge, "));
  EXPECT_THAT(DecodeRefusal(Object("VIFBase", json::object())), HasSubstr("expected one of "));
}

TEST(RefusalTextTest, HostileTextIsPrintable) {
  const std::string hostile = "\x1b[2J\n\"" + std::string(500, 'A');

  const std::string message = DecodeRefusal(With("/vif_name", hostile));

  EXPECT_THAT(message, HasSubstr("\\x1b[2J\\x0a"));
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_LT(message.size(), 300U);
}

TEST(RefusalTextTest, HostileKeysOfThePathArePrintable) {
  const std::string key = "e\x1b\n" + std::string(500, 'A');
  const json map = {{key, Object("VIFGeneric", json::object())}};

  try {
    static_cast<void>(DecodeAnnotation(map.dump()));
    ADD_FAILURE() << "accepted";
  } catch (const ParseError& e) {
    const std::string message = e.what();
    EXPECT_EQ(message.find('\x1b'), std::string::npos);
    EXPECT_LT(message.size(), 400U);
  }
}

}  // namespace
}  // namespace kuryr::vif
