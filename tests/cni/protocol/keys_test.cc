#include "cni/protocol/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "cni/protocol/error.h"
#include "cni/protocol/network_config.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// As it comes on stdin.
NetworkConfig ParseText(const std::string& members, Command command = Command::kAdd) {
  return ParseNetworkConfig(ParseInput(R"({"cniVersion":"1.0.0",)" + members + "}"), command);
}

std::string RefusalOf(const std::string& members) {
  try {
    (void)ParseText(members);
  } catch (const CniError& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidConfig) << members;
    return e.what();
  }
  ADD_FAILURE() << "accepted: " << members;
  return {};
}

const std::string kOvs = R"("name":"net","type":"ovs","bridge":"br1",)";
const std::string kOwn = R"("name":"net","type":"kuryr-cni",)";

TEST(KeysTest, AVlanInAnyCaseIsThePorts) {
  for (const char* vlan : {R"("vlan":100)", R"("Vlan":100)", R"("VLAN":100)", R"("vLaN":100)"}) {
    EXPECT_EQ(ParseText(kOvs + vlan).standalone->ovs_cni->vlan, 100) << vlan;
    const std::string kuryr = kOwn + R"("Kuryr":{"VIF":"ovs",)" + vlan + "}";
    EXPECT_EQ(ParseText(kuryr).standalone->vlan, 100) << vlan;
  }
}

TEST(KeysTest, EveryFieldOfOvsCniIsTakenInAnyCase) {
  const NetworkConfig config = ParseText(
      R"("NAME":"net","Type":"ovs","BRIDGE":"br1","MTU":1400,"Trunk":[{"ID":7},{"minid":20,"MaxId":21}],
         "OFPORT_REQUEST":5,"Socket_File":"/run/db.sock","Vlan_Mode":"trunk","IPAM":{"TYPE":"static"},
         "DeviceID":"0000:00:05.2","DNS":{"Domain":"a.b"},
         "BandWidth":{"EGRESSRATE":2000},"Mirrors":[{"Name":"m","Ingress":true}])");

  const OvsCniConfig& own = *config.standalone->ovs_cni;
  EXPECT_EQ(config.name, "net");
  EXPECT_EQ(own.bridge, "br1");
  EXPECT_EQ(own.mtu, 1400U);
  EXPECT_THAT(own.trunks, ElementsAre(7, 20, 21));
  EXPECT_EQ(own.ofport_request, 5U);
  EXPECT_EQ(config.ovsdb_connection, "unix:/run/db.sock");
  EXPECT_EQ(config.ipam, "static");
  EXPECT_EQ(config.json["deviceID"], "0000:00:05.2");
  EXPECT_EQ(config.dns.domain, "a.b");
  EXPECT_EQ(own.bandwidth.egress_rate, 2000U);
  EXPECT_TRUE(own.mirrors.at(0).ingress);
}

TEST(KeysTest, TwoSpellingsOfOneFieldAreRefused) {
  EXPECT_THAT(RefusalOf(kOvs + R"("vlan":100,"VLAN":200)"), HasSubstr("vlan stands there twice"));
  EXPECT_THAT(RefusalOf(kOvs + R"("VLAN":100,"Vlan":200)"), HasSubstr("vlan stands there twice"));
  EXPECT_THAT(RefusalOf(kOvs + R"("trunk":[{"id":1},{"id":2,"ID":3}])"),
              HasSubstr("trunk[1].id stands there twice"));
  EXPECT_THAT(RefusalOf(kOwn + R"("kuryr":{"vlan":1,"Vlan":2})"),
              HasSubstr("kuryr.vlan stands there twice"));
}

TEST(KeysTest, ADelDoesNotFailForTwoSpellings) {
  EXPECT_EQ(ParseText(kOvs + R"("vlan":100,"VLAN":200)", Command::kDel).name, "net");
}

/// libcni writes "name" beside a configuration's own "Name".
TEST(KeysTest, WhatTheRuntimeAddsWins) {
  const NetworkConfig config = ParseText(kOvs + R"("Name":"other","CNIVersion":"0.3.0")");

  EXPECT_EQ(config.name, "net");
  EXPECT_EQ(config.cni_version, "1.0.0");
  EXPECT_FALSE(config.json.contains("Name"));
}

TEST(KeysTest, AnUnknownKeyOfOurSectionIsRefusedWithTheKnownOnes) {
  const std::string refusal = RefusalOf(kOwn + R"("kuryr":{"vif":"ovs","vlanId":100})");

  EXPECT_THAT(refusal, HasSubstr("kuryr has \"vlanId\""));
  EXPECT_THAT(refusal, HasSubstr("vif, bridge, vlan, uplink"));
  EXPECT_THAT(RefusalOf(kOvs + R"("bandwidth":{"rate":1000})"),
              HasSubstr("bandwidth has \"rate\""));
}

TEST(KeysTest, AVlanOutsideOfTheSectionKuryrIsRefused) {
  EXPECT_THAT(RefusalOf(kOwn + R"("kuryr":{"vif":"ovs"},"vlan":100)"), HasSubstr("vlan stands"));
  EXPECT_THAT(RefusalOf(kOwn + R"("ipam":{"type":"x"},"Vlan":100)"), HasSubstr("vlan stands"));
  EXPECT_TRUE(ParseText(kOwn + R"("kuryr":{},"vlan":0)").standalone.has_value());
}

TEST(KeysTest, OthersKeysStayAsTheyAre) {
  const NetworkConfig config =
      ParseText(kOvs + R"("Vlans":7,"isDefaultgw":1,"ipam":{"Subnet":"a","Range":{"Type":1}})");

  EXPECT_EQ(config.json["Vlans"], 7);
  EXPECT_EQ(config.json["ipam"]["Subnet"], "a");
  EXPECT_EQ(config.json["ipam"]["Range"]["Type"], 1);
}

TEST(KeysTest, WhatIsNoObjectIsLeftToItsReader) {
  for (const char* members : {R"("trunk":7)", R"("trunk":[7])", R"("args":[])", R"("ipam":null)"})
    EXPECT_NO_THROW((void)ParseInput("{" + std::string(members) + "}")) << members;
}

}  // namespace
}  // namespace kuryr::cni
