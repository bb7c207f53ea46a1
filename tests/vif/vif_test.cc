#include "vif/vif.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/vif/samples.h"

namespace kuryr::vif {
namespace {

using nlohmann::json;

Vif Sample(const std::string& name) { return DecodeVif(JsonSample("vif/" + name + ".json")); }

std::vector<std::string> FixedIpTexts(const Vif& vif) {
  std::vector<std::string> texts;
  for (const IpNetwork& ip : AddressesOf(Common(vif))) texts.push_back(ip.ToString());
  return texts;
}

TEST(VifTest, KnowsItsClassName) {
  EXPECT_EQ(ClassName(Vif(VifOpenVSwitch())), "VIFOpenVSwitch");
  EXPECT_EQ(ClassName(Vif(VifDpdkNested())), "VIFDPDKNested");
  EXPECT_EQ(ClassName(PortProfile(PortProfileK8sDpdk())), "VIFPortProfileK8sDPDK");
}

TEST(VifTest, CommonPartCanBeChanged) {
  Vif vif = Sample("ovs-native-ipv4-inactive");

  Common(vif).active = true;

  EXPECT_EQ(vif, Sample("ovs-native-ipv4-active"));
}

TEST(VifTest, NamesItsHostInterface) {
  EXPECT_EQ(VifNameOf(Sample("ovs-native-ipv4-active")), "tap450e5c61-dc");
  EXPECT_EQ(VifNameOf(VifOpenVSwitch()), std::nullopt);
  EXPECT_EQ(VifNameOf(Sample("osvif-nesteddpdk")), std::nullopt);
}

TEST(VifTest, AbsentNullAndZeroMtuMeanNone) {
  VifOpenVSwitch vif;
  EXPECT_EQ(MtuOf(vif), std::nullopt);
  vif.network = Network();
  EXPECT_EQ(MtuOf(vif), std::nullopt);
  vif.network->mtu.reset();
  EXPECT_EQ(MtuOf(vif), std::nullopt);
  vif.network->mtu = 0U;
  EXPECT_EQ(MtuOf(vif), std::nullopt);
  vif.network->mtu = 1450U;
  EXPECT_EQ(MtuOf(vif), 1450U);
}

TEST(VifTest, AbsentGatewayStaysUnset) {
  const Vif vif = Sample("ovs-native-nogateway-active");

  EXPECT_FALSE((*Common(vif).network->subnets)[0].gateway.is_set());
}

TEST(VifTest, PortProfileMayBeAbsentOrNull) {
  json primitive = JsonSample("vif/ovs-native-ipv4-active.json");
  primitive["versioned_object.data"]["port_profile"] = nullptr;

  const Vif vif = DecodeVif(primitive);

  EXPECT_TRUE(Common(vif).port_profile.is_null());
  EXPECT_EQ(EncodeVif(vif), primitive);
  EXPECT_FALSE(Common(Sample("nested-vlan-ipv4-active")).port_profile.is_set());
}

TEST(VifTest, RequiredFieldNamesItsPath) {
  try {
    static_cast<void>(Required(Field<int>(), "$.vlan_id"));
    ADD_FAILURE() << "no exception";
  } catch (const ParseError& e) {
    EXPECT_STREQ(e.what(), "$.vlan_id: is not set");
  }
  EXPECT_EQ(Required(Field<int>(3), "$.vlan_id"), 3);
}

TEST(FixedIpsTest, StandInTheSubnet) {
  EXPECT_EQ(FixedIpTexts(Sample("ovs-native-ipv4-active")),
            std::vector<std::string>{"10.1.0.5/16"});
  EXPECT_EQ(FixedIpTexts(Sample("ovs-native-dualstack-active")).size(), 2U);
}

TEST(FixedIpsTest, OfOsVif180StandInTheVif) {
  Vif vif = Sample("version-osvif-1.8.0-fixed_ips");
  EXPECT_EQ(FixedIpTexts(vif), std::vector<std::string>{"10.1.0.5/16"});

  // An address outside the subnet does not belong to it.
  (*Common(vif).network->subnets->objects)[0].cidr = *IpNetwork::Parse("10.2.0.0/16");
  EXPECT_TRUE(FixedIpTexts(vif).empty());
}

TEST(FixedIpsTest, WithoutCidrAreWholeAddresses) {
  Subnet subnet;
  subnet.ips = FixedIpList{.objects = std::vector{FixedIp{.address = *IpAddress::Parse("::1")}}};

  const auto ips = FixedIpsOf(VifOpenVSwitch(), subnet);

  ASSERT_EQ(ips.size(), 1U);
  EXPECT_EQ(ips[0].ToString(), "::1/128");
}

TEST(AddressesTest, AreThoseOfEverySubnetInOrder) {
  const std::vector<std::string> both = {"10.1.0.6/16", "fd35:7db5:e3fc::6/64"};

  EXPECT_EQ(FixedIpTexts(Sample("ovs-native-dualstack-active")), both);
  EXPECT_TRUE(AddressesOf(VifOpenVSwitch()).empty()) << "without a network";
}

TEST(EncodeTest, NetworkMadeByHandHasWhatOsVifsConstructorSets) {
  const json data = EncodeNetwork(Network()).at("versioned_object.data");

  EXPECT_EQ(data.at("mtu"), nullptr);
  EXPECT_EQ(data.at("multi_host"), false);
  EXPECT_EQ(data.at("subnets").at("versioned_object.data").at("objects"), json::array());
  EXPECT_EQ(data.size(), 5U);
}

TEST(EncodeTest, DecodedNetworkKeepsAbsentFieldsAbsent) {
  const json input = JsonSample("vif/version-network-1.0.json")["versioned_object.data"]["network"];

  const Network network = DecodeNetwork(input);

  EXPECT_FALSE(network.mtu.is_set());
  EXPECT_EQ(EncodeNetwork(network), input);
}

TEST(EncodeTest, FieldOfALaterVersionRaisesTheVersion) {
  VifOpenVSwitch vif;
  PortProfileOpenVSwitch profile;
  profile.create_port = true;
  vif.port_profile = profile;
  const json::json_pointer version("/versioned_object.data/port_profile/versioned_object.version");
  EXPECT_EQ(EncodeVif(vif).at(version), "1.3");

  profile.create_tap = true;
  vif.port_profile = profile;
  EXPECT_EQ(EncodeVif(vif).at(version), "1.4");

  profile.envelope.version = "1.7";
  vif.port_profile = profile;
  EXPECT_EQ(EncodeVif(vif).at(version), "1.7");
}

TEST(EncodeTest, KeepsUnknownFieldsMembersAndVersions) {
  json input = JsonSample("vif/edge-unknown-field.json");
  input["versioned_object.version"] = "1.42";
  input["versioned_object.future"] = {1, 2};

  EXPECT_EQ(EncodeVif(DecodeVif(input)), input);
}

}  // namespace
}  // namespace kuryr::vif
