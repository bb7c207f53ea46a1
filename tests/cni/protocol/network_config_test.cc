#include "cni/protocol/network_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

/// With cniVersion and name, where `members` has none.
NetworkConfig Parse(const char* members, Command command = Command::kAdd) {
  json config = {{"cniVersion", "1.1.0"}, {"name", "kuryr"}, {"type", "kuryr-cni"}};
  config.update(json::parse(members));
  return ParseNetworkConfig(config, command);
}

CniError FailureOf(const std::function<void()>& parse, const std::string& what) {
  try {
    parse();
  } catch (const CniError& e) {
    return e;
  }
  ADD_FAILURE() << "accepted: " << what;
  return {ErrorCode::kInternal, "accepted"};
}

CniError Failure(const char* members) {
  return FailureOf([&] { (void)Parse(members); }, members);
}

/// The error for text that is no configuration.
CniError InputFailure(const std::string& input) {
  return FailureOf([&] { (void)VersionField(ParseInput(input)); }, input.substr(0, 80));
}

TEST(NetworkConfigTest, CFG_01_02_03_WhatIsNoJsonObjectIsCode6) {
  for (const char* input : {"", " ", "{", "{} x", "[]", "\"x\"", "null", "7"})
    EXPECT_EQ(InputFailure(input).code(), ErrorCode::kDecodeFailure) << input;
}

TEST(NetworkConfigTest, CFG_11_HostileJsonIsCode6) {
  for (const std::string& input :
       {std::string(R"({"name":"a","name":"b"})"), std::string("{\"name\":\"\xff\"}"),
        std::string(R"({"name":"\ud800"})"), std::string(R"({"name":1e999})"),
        std::string("{\"name\":\"a\"}\0", 13), "{\"a\":" + std::string(100, '['),
        std::string(100'000, '['), "{\"a\":\"" + std::string(size_t{2} << 20, 'x') + "\"}"}) {
    const CniError error = InputFailure(input);
    EXPECT_EQ(error.code(), ErrorCode::kDecodeFailure) << input.substr(0, 80);
    EXPECT_LT(error.details().size(), 500U);
  }
}

TEST(NetworkConfigTest, CFG_11_NumbersBeyondARangeAreRefusedAsSuch) {
  for (const char* number : {"18446744073709551615", "18446744073709551616", "4294967297", "1e3",
                             "1450.0", "-1", "-9223372036854775808"}) {
    const std::string members = R"({"ipam":{"type":"x"},"mtu":)" + std::string(number) + "}";
    EXPECT_EQ(Failure(members.c_str()).code(), ErrorCode::kInvalidConfig) << number;
  }
}

TEST(NetworkConfigTest, CFG_04_ANameIsRequired) {
  for (const char* members : {R"({"name":""})", R"({"name":null})"})
    EXPECT_THAT(Failure(members).what(), HasSubstr("name")) << members;
  const CniError error =
      FailureOf([] { (void)ParseNetworkConfig({{"cniVersion", "1.0.0"}}, Command::kAdd); }, "{}");
  EXPECT_EQ(error.code(), ErrorCode::kInvalidConfig);
}

TEST(NetworkConfigTest, CFG_05_ANameIsAnIdentifier) {
  for (const char* members : {R"({"name":"../a"})", R"({"name":"a/b"})", R"({"name":"."})",
                              R"({"name":"a:b"})", R"({"name":"a\u0000"})", R"({"name":7})"}) {
    const CniError error = Failure(members);
    EXPECT_EQ(error.code(), ErrorCode::kInvalidConfig) << members;
    EXPECT_THAT(error.what(), HasSubstr("name"));
  }
}

TEST(NetworkConfigTest, CFG_06_07_08_14_WhatIsOthersIsLeftToThem) {
  const NetworkConfig config = Parse(R"({"foo":{"bar":[1]},"capabilities":{"mac":true},
    "args":{"labels":[{"key":"a"}]},"cni.dev/unknown":7})");

  EXPECT_EQ(config.json.at("foo"), json::parse(R"({"bar":[1]})"));
  EXPECT_FALSE(config.standalone);
}

TEST(NetworkConfigTest, CFG_09_AFieldOfAWrongTypeOrRangeIsNamed) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {R"({"kuryr_conf":1})", "kuryr_conf"},
      {R"({"debug":"true"})", "debug"},
      {R"({"ipam":[]})", "ipam"},
      {R"({"kuryr":"x"})", "kuryr"},
      {R"({"kuryr":{"vif":"sriov"}})", "kuryr.vif is \"sriov\""},
      {R"({"kuryr":{"bridge":"a/b"}})", "kuryr.bridge \"a/b\""},
      {R"({"kuryr":{"bridge":""}})", "kuryr.bridge"},
      {R"({"kuryr":{"vif":"ovs","vlan":0}})", "kuryr.vlan is 0"},
      {R"({"kuryr":{"vif":"ovs","vlan":4095}})", "kuryr.vlan is 4095"},
      {R"({"kuryr":{"uplink":"sixteen-letters-"}})", "kuryr.uplink"},
      {R"({"kuryr":{},"mtu":67})", "mtu is 67"},
      {R"({"kuryr":{},"mtu":65536})", "mtu is 65536"},
      {R"({"kuryr":{},"mtu":"1500"})", "mtu is \"1500\""},
      {R"({"kuryr":{},"isGateway":1})", "isGateway"},
      {R"({"kuryr":{},"hairpinMode":true,"promiscMode":true})", "promiscMode"},
      {R"({"kuryr":{"vlan":7}})", "kuryr.uplink"},
      {R"({"kuryr":{"uplink":"eth1"}})", "kuryr.vlan"},
      {R"({"kuryr":{"uplink":"eth1","vlan":7},"isGateway":true})", "isGateway"},
      {R"({"dns":{"nameservers":"10.0.0.2"}})", "dns.nameservers"},
      {R"({"dns":{"search":[7]}})", "dns.search[0]"},
      {R"({"cni.dev/valid-attachments":{}})", "cni.dev/valid-attachments"},
  };
  for (const auto& [members, named] : wrong) {
    const CniError error = Failure(members);
    EXPECT_EQ(error.code(), ErrorCode::kInvalidConfig) << members;
    EXPECT_THAT(error.what(), HasSubstr(named)) << members;
  }
}

TEST(NetworkConfigTest, CFG_10_APluginsNameLeadsNowhere) {
  for (const char* members :
       {R"({"type":"../x"})", R"({"type":"."})", R"({"ipam":{"type":"/bin/sh"}})",
        R"({"ipam":{"type":".."}})", R"({"ipam":{"type":"a/b"}})",
        R"({"ipam":{"type":"sh\u0000"}})", R"({"ipam":{"type":"a\nb"}})"})
    EXPECT_EQ(Failure(members).code(), ErrorCode::kInvalidConfig) << members;
  EXPECT_EQ(Parse(R"({"ipam":{"type":"host-local"}})").ipam, "host-local");
}

TEST(NetworkConfigTest, CFG_13_MasqueradingThatWeCannotDoIsCode2) {
  for (const char* members : {R"({"ipMasq":true})", R"({"kuryr":{"vif":"ovs"},"ipMasq":true})"}) {
    const CniError error = Failure(members);
    EXPECT_EQ(error.code(), ErrorCode::kUnsupportedField) << members;
    EXPECT_THAT(error.what(), HasSubstr("ipMasq true")) << "key and value";
  }
  EXPECT_TRUE(Parse(R"({"kuryr":{},"ipMasq":true})").standalone->ip_masq);
  EXPECT_FALSE(Parse(R"({"ipMasq":false})").standalone);
}

TEST(NetworkConfigTest, ADelDoesNotFailForWhatItDoesNotNeed) {
  for (const char* members :
       {R"({"ipMasq":true})", R"({"kuryr":7})", R"({"dns":7})", R"({"ipam":{"type":"x"},"mtu":1})"})
    EXPECT_FALSE(Parse(members, Command::kDel).standalone) << members;
}

TEST(NetworkConfigTest, AStandaloneNetworkHasTheReferencesDefaults) {
  using Kind = StandaloneNetwork::Kind;
  EXPECT_FALSE(Parse("{}").standalone);
  EXPECT_EQ(Parse(R"({"ipam":{"type":"x"}})").standalone, (StandaloneNetwork{.bridge = "cbr0"}));
  EXPECT_EQ(Parse(R"({"kuryr":{"vif":"ovs","vlan":7}})").standalone,
            (StandaloneNetwork{.kind = Kind::kOvs, .bridge = "br-int", .vlan = 7}));
  EXPECT_EQ(
      Parse(R"({"kuryr":{"bridge":"br1","uplink":"eth1","vlan":4094}})").standalone,
      (StandaloneNetwork{.bridge = "br1", .vlan = 4094, .uplink = "eth1", .is_gateway = false}));
  EXPECT_EQ(
      Parse(R"({"kuryr":{},"promiscMode":true,"isDefaultGateway":true,"mtu":9000})").standalone,
      (StandaloneNetwork{.bridge = "cbr0",
                         .mtu = 9000,
                         .is_default_gateway = true,
                         .hairpin_mode = false,
                         .promisc_mode = true}));
}

TEST(NetworkConfigTest, VER_04_12_AnUnsupportedVersionIsCode1AndNamesBothSides) {
  for (const char* version : {"9.9.9", "1.0", "v1.0.0", "1.0.0-rc1", "1.1.1", " 1.0.0"}) {
    const std::string members = R"({"cniVersion":")" + std::string(version) + R"("})";
    const CniError error = Failure(members.c_str());

    EXPECT_EQ(error.code(), ErrorCode::kIncompatibleVersion) << version;
    EXPECT_THAT(error.details(), AllOf(HasSubstr(version), HasSubstr("0.1.0"), HasSubstr("1.1.0")));
  }
}

TEST(NetworkConfigTest, VER_06_07_EveryVersionIsUnderstoodAndNoneMeans010) {
  for (const std::string_view version : kSupportedVersions) {
    const std::string members = R"({"cniVersion":")" + std::string(version) + R"("})";
    const NetworkConfig config = Parse(members.c_str());
    EXPECT_EQ(config.cni_version, version);
    EXPECT_EQ(ToString(config.version), version);
  }
  EXPECT_EQ(Parse(R"({"cniVersion":""})").version, SpecVersion::k010);
  EXPECT_EQ(ParseNetworkConfig({{"name", "a"}}, Command::kAdd).version, SpecVersion::k010);
}

TEST(NetworkConfigTest, VER_11_AVersionOfAWrongTypeIsCode6) {
  for (const char* input :
       {R"({"cniVersion":1})", R"({"cniVersion":null})", R"({"cniVersion":[]})"})
    EXPECT_EQ(InputFailure(input).code(), ErrorCode::kDecodeFailure) << input;
}

TEST(NetworkConfigTest, VER_13_TheRuntimesListOfVersionsIsIgnored) {
  EXPECT_EQ(Parse(R"({"cniVersion":"0.4.0","cniVersions":["1.1.0"]})").version, SpecVersion::k040);
}

TEST(NetworkConfigTest, GC_03_EitherListIsTakenAndBothTogether) {
  const char* newer = R"({"cni.dev/valid-attachments":[{"containerID":"a","ifname":"eth0"}]})";
  const char* older = R"({"cni.dev/attachments":[{"containerID":"b","ifname":"net1"}]})";
  const char* both = R"({"cni.dev/valid-attachments":[{"containerID":"a","ifname":"eth0"}],
                         "cni.dev/attachments":[{"containerID":"b","ifname":"net1"}]})";
  EXPECT_THAT(*Parse(newer).valid_attachments, ElementsAre(Pair("a", "eth0")));
  EXPECT_THAT(*Parse(older).valid_attachments, ElementsAre(Pair("b", "net1")));
  EXPECT_THAT(*Parse(both).valid_attachments, ElementsAre(Pair("a", "eth0"), Pair("b", "net1")));
}

TEST(NetworkConfigTest, GC_04_WithoutAListNothingIsKnownToBeInvalid) {
  EXPECT_FALSE(Parse("{}").valid_attachments);
}

TEST(NetworkConfigTest, GC_04b_NullIsAnEmptyList) {
  for (const char* members :
       {R"({"cni.dev/valid-attachments":null})", R"({"cni.dev/attachments":[]})"}) {
    const auto valid = Parse(members).valid_attachments;
    ASSERT_TRUE(valid) << members;
    EXPECT_TRUE(valid->empty());
  }
}

TEST(NetworkConfigTest, GC_AnEntryThatNamesNothingIsRefused) {
  for (const char* members : {R"({"cni.dev/attachments":[{"containerID":"a"}]})",
                              R"({"cni.dev/attachments":[{}]})", R"({"cni.dev/attachments":[7]})",
                              R"({"cni.dev/attachments":[{"containerID":7,"ifname":"a"}]})"})
    EXPECT_EQ(Failure(members).code(), ErrorCode::kInvalidConfig) << members;
}

TEST(NetworkConfigTest, ERR_07_SecretsDoNotReachAnError) {
  const CniError error = Failure(R"({"debug":1,"token":"s3cret"})");

  EXPECT_THAT(ErrorJson(error, "1.0.0"), Not(HasSubstr("s3cret")));
}

}  // namespace
}  // namespace kuryr::cni
