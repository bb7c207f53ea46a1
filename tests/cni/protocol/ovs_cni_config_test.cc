#include "cni/protocol/ovs_cni_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cni/protocol/error.h"
#include "cni/protocol/network_config.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

NetworkConfig ParseOvs(const char* members, Command command = Command::kAdd) {
  json config = {{"name", "net"}, {"type", "ovs"}, {"bridge", "br1"}};
  config.update(json::parse(members));
  return ParseNetworkConfig(config, command);
}

OvsCniConfig OvsCni(const char* members) { return *ParseOvs(members).standalone->ovs_cni; }

CniError OvsFailure(const char* members, Command command = Command::kAdd) {
  try {
    (void)ParseOvs(members, command);
  } catch (const CniError& e) {
    return e;
  }
  ADD_FAILURE() << "accepted: " << members;
  return {ErrorCode::kInternal, "accepted"};
}

TEST(OvsCniConfigTest, AConfigurationOfOvsCniIsAStandaloneNetworkOnOpenVSwitch) {
  const NetworkConfig config = ParseOvs(R"({"vlan":100,"mtu":1450,"ipam":{"type":"static"}})");

  EXPECT_TRUE(config.is_ovs_cni);
  EXPECT_EQ(config.ipam, "static");
  ASSERT_TRUE(config.standalone.has_value());
  EXPECT_EQ(config.standalone->kind, StandaloneNetwork::Kind::kOvs);
  EXPECT_EQ(config.standalone->bridge, "br1");
  EXPECT_EQ(config.standalone->mtu, 1450U);
  EXPECT_EQ(config.standalone->ovs_cni->vlan, 100);
  EXPECT_EQ(config.standalone->ovs_cni->vlan_mode, "access");
}

TEST(OvsCniConfigTest, OtherTypesAreReadAsBefore) {
  json config = {{"name", "net"}, {"type", "kuryr-cni"}, {"bridge", "br1"}, {"vlan", "x"}};

  EXPECT_FALSE(ParseNetworkConfig(config, Command::kAdd).standalone.has_value());
}

TEST(OvsCniConfigTest, TrunkIsTheSetOfItsIdsAndRanges) {
  const OvsCniConfig own = OvsCni(
      R"({"trunk":[{"minID":1000,"maxID":1002},{"id":42},{"id":1001},{"id":0,"minID":7,"maxID":7}]})");

  EXPECT_THAT(own.trunks, ElementsAre(0, 7, 42, 1000, 1001, 1002));
  EXPECT_EQ(own.vlan_mode, "trunk");
}

TEST(OvsCniConfigTest, APortWithoutVlanIsATrunkOfAll) {
  for (const char* members : {"{}", R"({"trunk":[]})", R"({"vlan":null,"trunk":null})"}) {
    EXPECT_EQ(OvsCni(members).vlan_mode, "trunk") << members;
    EXPECT_TRUE(OvsCni(members).trunks.empty()) << members;
  }
}

/// As ovs-cni has it.
TEST(OvsCniConfigTest, ATrunkHasNoVlanOfItsOwnUnlessVlanModeSaysSo) {
  const char* native = R"({"vlan":7,"trunk":[{"id":8}],"vlan_mode":"native-untagged"})";

  EXPECT_EQ(OvsCni(R"({"vlan":7,"trunk":[{"id":8}]})").vlan, std::nullopt);
  EXPECT_EQ(OvsCni(native).vlan, 7);
  EXPECT_THAT(OvsCni(native).trunks, ElementsAre(8));
  EXPECT_EQ(OvsCni(native).vlan_mode, "native-untagged");
}

TEST(OvsCniConfigTest, VlanZeroIsATag) { EXPECT_EQ(OvsCni(R"({"vlan":0})").vlan, 0); }

TEST(OvsCniConfigTest, AMirrorWithoutDirectionIsAnOutput) {
  const OvsCniConfig own =
      OvsCni(R"({"mirrors":[{"name":"m1","ingress":true,"egress":false},{"name":"m2"}]})");

  EXPECT_THAT(own.mirrors, ElementsAre(OvsCniMirror{.name = "m1", .ingress = true},
                                       OvsCniMirror{.name = "m2", .output = true}));
}

TEST(OvsCniConfigTest, BandwidthIsThePodsInBits) {
  const auto bandwidth =
      OvsCni(
          R"({"bandwidth":{"ingressRate":1000000,"ingressBurst":3000,"egressRate":2000000,"egressBurst":4000}})")
          .bandwidth;

  EXPECT_EQ(bandwidth, (Bandwidth{.ingress_rate = 1'000'000,
                                  .ingress_burst = 3000,
                                  .egress_rate = 2'000'000,
                                  .egress_burst = 4000}));
}

TEST(OvsCniConfigTest, SocketFileIsAPathOrARemote) {
  EXPECT_EQ(ParseOvs(R"({"socket_file":"/run/db.sock"})").ovsdb_connection, "unix:/run/db.sock");
  for (const char* remote : {"unix:/run/db.sock", "tcp:127.0.0.1:6640", "ssl:[::1]:6640", ""}) {
    const std::string members = json({{"socket_file", remote}}).dump();
    EXPECT_EQ(ParseOvs(members.c_str()).ovsdb_connection, remote);
    EXPECT_EQ(ParseOvs(members.c_str(), Command::kDel).ovsdb_connection, remote);
  }
}

TEST(OvsCniConfigTest, MalformedFieldsAreCode7AndNamed) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({"bridge":7})", "bridge is a JSON number"},
      {R"({"bridge":"a/b"})", "bridge \"a/b\""},
      {R"({"vlan":4095})", "vlan is 4095"},
      {R"({"vlan":"100"})", "vlan is \"100\""},
      {R"({"vlan":-1})", "vlan is -1"},
      {R"({"trunk":{}})", "trunk is a JSON object"},
      {R"({"trunk":[7]})", "trunk[0] is no object"},
      {R"({"trunk":[{}]})", "trunk[0] has neither id nor"},
      {R"({"trunk":[{"id":1},{"minID":5}]})", "trunk[1] has minID or maxID without"},
      {R"({"trunk":[{"minID":5,"maxID":4}]})", "trunk[0].maxID is 4, less than minID 5"},
      {R"({"trunk":[{"minID":0,"maxID":4096}]})", "trunk[0].maxID is 4096"},
      {R"({"trunk":[{"id":4096}]})", "trunk[0].id is 4096"},
      {R"({"vlan_mode":"dot1q-tunnel"})", "vlan_mode is \"dot1q-tunnel\""},
      {R"({"vlan_mode":"native-tagged"})", "vlan_mode is native-tagged, which needs vlan"},
      {R"({"vlan":1,"vlan_mode":"access","trunk":[{"id":2}]})", "vlan_mode is access, and trunk"},
      {R"({"mtu":67})", "mtu is 67"},
      {R"({"ofport_request":65280})", "ofport_request is 65280"},
      {R"({"socket_file":"db.sock"})", "socket_file \"db.sock\""},
      {R"({"link_state_check_retries":"5"})", "link_state_check_retries is \"5\""},
      {R"({"bandwidth":{"ingressRate":999}})", "bandwidth.ingressRate is 999"},
      {R"({"bandwidth":{"egressBurst":1000}})", "bandwidth.egressBurst is set without"},
      {R"({"bandwidth":{"ingressBurst":1000}})", "bandwidth.ingressBurst is set without"},
      {R"({"mirrors":[{"name":"a b","ingress":true}]})", "mirrors[0].name \"a b\""},
      {R"({"mirrors":[{"ingress":true}]})", "mirrors[0].name \"\""},
      {R"({"mirrors":[{"name":"m","ingres":true}]})", "mirrors[0] has \"ingres\""},
      {R"({"mirrors":[{"name":"m","ingress":false}]})", "mirrors[0] has ingress and egress false"},
      {R"({"mirrors":[{"name":"m"},{"name":"m"}]})", "mirrors[1] names m a second time"},
  };
  for (const auto& [members, words] : cases) {
    const CniError error = OvsFailure(members);
    EXPECT_EQ(error.code(), ErrorCode::kInvalidConfig) << members;
    EXPECT_THAT(error.what(), HasSubstr(words)) << members;
  }
}

TEST(OvsCniConfigTest, AnInterfaceThatIsNoDeviceOfTheNodeIsCode2) {
  for (const char* members : {R"({"interface_type":"internal"})", R"({"interface_type":"dpdk"})"}) {
    EXPECT_EQ(OvsFailure(members).code(), ErrorCode::kUnsupportedField) << members;
    EXPECT_THAT(OvsFailure(members).what(), HasSubstr("interface_type"));
  }
  EXPECT_EQ(OvsCni(R"({"interface_type":"system"})").interface_type, "system");
}

TEST(OvsCniConfigTest, ADelNeedsNothingButTheSocket) {
  EXPECT_FALSE(
      ParseOvs(R"({"vlan":"x","trunk":7,"mirrors":7})", Command::kDel).standalone.has_value());
  EXPECT_EQ(OvsFailure(R"({"socket_file":7})", Command::kDel).code(), ErrorCode::kInvalidConfig);
}

}  // namespace
}  // namespace kuryr::cni
