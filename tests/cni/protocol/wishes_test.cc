#include "cni/protocol/wishes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Wishes ParseWishes(const char* config, const Args& args = {}) {
  return ParseWishes(json::parse(config), args);
}

MacAddress Mac(const char* text) { return *MacAddress::Parse(text); }
IpNetwork Ip(const char* text) { return *IpNetwork::Parse(text); }

/// The plugin's error as "CODE MESSAGE".
std::string WishFailure(const char* config, const Args& args = {}) {
  try {
    (void)ParseWishes(config, args);
  } catch (const CniError& e) {
    return std::to_string(static_cast<int>(e.code())) + " " + e.what();
  }
  ADD_FAILURE() << "accepted: " << config;
  return "";
}

TEST(WishesTest, CAP_01_TheRuntimesMacIsTaken) {
  EXPECT_EQ(ParseWishes(R"({"runtimeConfig":{"mac":"02:00:00:00:00:01"}})").mac,
            Mac("02:00:00:00:00:01"));
}

TEST(WishesTest, CAP_02_ArgsMacAndIpsAreTaken) {
  const Wishes wishes =
      ParseWishes(R"({"args":{"cni":{"mac":"02:00:00:00:00:01","ips":["10.0.0.7/24"]}}})");

  EXPECT_EQ(wishes.mac, Mac("02:00:00:00:00:01"));
  EXPECT_THAT(wishes.ips, ElementsAre(Ip("10.0.0.7/24")));
}

TEST(WishesTest, AnOvnPortComesByCniArgsBeforeArgsCniInWhateverCase) {
  for (const char* key : {"ovnPort", "OvnPort", "ovnport"}) {
    const std::string config = json({{"args", {{"cni", {{key, "in-args"}}}}}}).dump();
    EXPECT_EQ(ParseWishes(config.c_str()).ovn_port, "in-args") << key;
    EXPECT_EQ(ParseWishes(config.c_str(), {.ovn_port = "in-cni-args"}).ovn_port, "in-cni-args");
  }
  for (const char* name : {"a b", "a\tb", "\x7f", "\xc3\xa4"})
    EXPECT_THAT(WishFailure("{}", {.ovn_port = name}), HasSubstr("4 CNI_ARGS: OvnPort")) << name;
  EXPECT_THAT(WishFailure(R"({"args":{"cni":{"ovnPort":7}}})"), HasSubstr("7 args.cni.ovnport"));
}

TEST(WishesTest, CAP_03_12_RuntimeConfigGoesBeforeArgsAndThoseBeforeCniArgs) {
  const Args args = {.mac = "02:00:00:00:00:03", .ip = "10.0.0.3"};
  const char* in_args = R"({"args":{"cni":{"mac":"02:00:00:00:00:02","ips":["10.0.0.2"]}}})";
  const char* in_both = R"({"args":{"cni":{"mac":"02:00:00:00:00:02","ips":["10.0.0.2"]}},
                            "runtimeConfig":{"mac":"02:00:00:00:00:01","ips":["10.0.0.1/24"]}})";

  EXPECT_EQ(ParseWishes("{}", args).mac, Mac("02:00:00:00:00:03"));
  EXPECT_THAT(ParseWishes("{}", args).ips, ElementsAre(Ip("10.0.0.3/32")));
  EXPECT_EQ(ParseWishes(in_args, args).mac, Mac("02:00:00:00:00:02"));
  EXPECT_THAT(ParseWishes(in_args, args).ips, ElementsAre(Ip("10.0.0.2/32")));
  EXPECT_EQ(ParseWishes(in_both, args).mac, Mac("02:00:00:00:00:01"));
  EXPECT_THAT(ParseWishes(in_both, args).ips, ElementsAre(Ip("10.0.0.1/24")));
}

TEST(WishesTest, CAP_04_KeysInsideRuntimeConfigHaveNoCase) {
  const Wishes wishes =
      ParseWishes(R"({"runtimeConfig":{"Mac":"02:00:00:00:00:01","IPS":["10.0.0.1"],
    "DeviceID":"0000:00:05.0","dns":{"Servers":["10.0.0.2"],"Searches":["x.y"],"Options":null}}})");

  EXPECT_EQ(wishes.mac, Mac("02:00:00:00:00:01"));
  EXPECT_THAT(wishes.ips, ElementsAre(Ip("10.0.0.1/32")));
  EXPECT_EQ(wishes.device_id, "0000:00:05.0");
  EXPECT_THAT(wishes.dns.nameservers, ElementsAre("10.0.0.2"));
  EXPECT_THAT(wishes.dns.search, ElementsAre("x.y"));
}

TEST(WishesTest, CAP_03_ADeviceMayAlsoStandInTheConfigurationItself) {
  const Args args = {.device_id = "0000:00:05.3"};

  EXPECT_EQ(ParseWishes("{}", args).device_id, "0000:00:05.3");
  EXPECT_EQ(ParseWishes(R"({"deviceID":"0000:00:05.2"})", args).device_id, "0000:00:05.2");
  EXPECT_EQ(ParseWishes(R"({"deviceID":"","runtimeConfig":{"deviceID":""}})", args).device_id,
            "0000:00:05.3");
  EXPECT_EQ(ParseWishes(
                R"({"deviceID":"0000:00:05.2","runtimeConfig":{"deviceID":"0000:00:05.1"}})", args)
                .device_id,
            "0000:00:05.1");
  EXPECT_THAT(WishFailure(R"({"deviceID":7})"), HasSubstr("7 deviceID is a JSON number"));
}

TEST(WishesTest, CAP_05_IpsHaveALengthOrNot) {
  EXPECT_THAT(ParseWishes(R"({"runtimeConfig":{"ips":["10.0.0.1/24","fd00::1"]}})").ips,
              ElementsAre(Ip("10.0.0.1/24"), Ip("fd00::1/128")));
}

TEST(WishesTest, CAP_06_AMalformedValueIsCode7ThatNamesIt) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {R"({"runtimeConfig":[]})", "runtimeConfig"},
      {R"({"args":7})", "args"},
      {R"({"args":{"cni":7}})", "args.cni"},
      {R"({"args":{"cni":{"mac":"x"}}})", "args.cni.mac"},
      {R"({"runtimeConfig":{"mac":7}})", "runtimeConfig.mac"},
      {R"({"runtimeConfig":{"mac":"x"}})", "runtimeConfig.mac"},
      {R"({"runtimeConfig":{"mac":"01:00:5e:00:00:01"}})", "runtimeConfig.mac"},
      {R"({"runtimeConfig":{"mac":"00:00:00:00:00:00"}})", "runtimeConfig.mac"},
      {R"({"runtimeConfig":{"ips":"10.0.0.1"}})", "runtimeConfig.ips"},
      {R"({"runtimeConfig":{"ips":[7]}})", "runtimeConfig.ips"},
      {R"({"runtimeConfig":{"ips":["10.0.0.1/33"]}})", "runtimeConfig.ips"},
      {R"({"runtimeConfig":{"deviceID":7}})", "runtimeConfig.deviceid"},
      {R"({"runtimeConfig":{"dns":[]}})", "runtimeConfig.dns"},
      {R"({"runtimeConfig":{"dns":{"servers":[7]}}})", "runtimeConfig.dns.servers[0]"},
  };
  for (const auto& [config, named] : wrong) {
    const std::string error = WishFailure(config);
    EXPECT_EQ(error.substr(0, 2), "7 ") << config;
    EXPECT_THAT(error, HasSubstr(named)) << config;
  }
}

TEST(WishesTest, CAP_06_MalformedCniArgsAreCode4) {
  EXPECT_THAT(WishFailure("{}", {.mac = "x"}), HasSubstr("4 CNI_ARGS: MAC"));
  EXPECT_THAT(WishFailure("{}", {.ip = "10.0.0"}), HasSubstr("4 CNI_ARGS: IP"));
}

TEST(WishesTest, CAP_07_PortMappingsAreCheckedForWhoeverMakesThem) {
  EXPECT_NO_THROW(ParseWishes(R"({"runtimeConfig":{"portMappings":[
    {"hostPort":18080,"containerPort":80,"protocol":"tcp","hostIP":"127.0.0.1"},
    {"HostPort":53,"ContainerPort":53,"Protocol":"UDP","HostIP":""}, {"hostPort":9,"containerPort":9}]}})"));
  for (const char* mapping :
       {"7", R"({"hostPort":65536,"containerPort":80})", R"({"hostPort":-1})",
        R"({"hostPort":"80"})", R"({"protocol":"icmp"})", R"({"hostIP":"localhost"})"}) {
    const std::string config =
        R"({"runtimeConfig":{"portMappings":[)" + std::string(mapping) + "]}}";
    EXPECT_THAT(WishFailure(config.c_str()), HasSubstr("7 runtimeConfig.portMappings")) << mapping;
  }
}

TEST(WishesTest, CAP_08_BandwidthIsBitsAndUnlimitedIsANumberToo) {
  const Wishes wishes = ParseWishes(R"({"runtimeConfig":{"bandwidth":{"IngressRate":0,
    "ingressBurst":4294967295,"egressRate":20000000,"egressBurst":4294967294}}})");
  EXPECT_EQ(wishes.bandwidth,
            (Bandwidth{.egress_rate = 20'000'000, .egress_burst = UINT32_MAX - 1}));
}

TEST(WishesTest, BandwidthThatIsNoRateIsRefusedByItsName) {
  const auto failure = [](const std::string& member) {
    return WishFailure((R"({"runtimeConfig":{"bandwidth":{)" + member + "}}}").c_str());
  };
  for (const char* value : {"-1", "1.5", "\"10M\"", "[]", "null", "\"NaN\"", "999", "1e300",
                            "9007199254740993", "18446744073709551616"}) {
    for (const char* name : {"ingressRate", "egressRate"}) {
      EXPECT_THAT(failure("\"" + std::string(name) + "\":" + value),
                  HasSubstr("7 runtimeConfig.bandwidth." + std::string(name)))
          << value;
    }
  }
  EXPECT_THAT(failure(R"("egressRate":1000,"egressBurst":-1)"),
              HasSubstr("7 runtimeConfig.bandwidth.egressBurst is -1"));
  EXPECT_THAT(failure(R"("egressRate":1000,"ingressBurst":8000)"),
              HasSubstr("7 runtimeConfig.bandwidth.ingressBurst is set without ingressRate"));
}

TEST(WishesTest, CAP_09_DnsIsTakenInEitherSpelling) {
  const Wishes wishes = ParseWishes(R"({"runtimeConfig":{"dns":{"servers":["10.0.0.2"],
    "nameservers":["10.0.0.1"],"search":["a"],"searches":["b"],"options":["c"]}}})");

  EXPECT_THAT(wishes.dns.nameservers, ElementsAre("10.0.0.1", "10.0.0.2"));
  EXPECT_THAT(wishes.dns.search, ElementsAre("a", "b"));
  EXPECT_THAT(wishes.dns.options, ElementsAre("c"));
}

TEST(WishesTest, CAP_11_13_OtherCapabilitiesAndNoneAreFine) {
  for (const char* config :
       {"{}", R"({"runtimeConfig":null,"args":null})", R"({"runtimeConfig":{}})",
        R"({"runtimeConfig":{"mac":null,"ips":[],"aliases":["a"],"ipRanges":[[{"subnet":"x"}]],
            "infinibandGUID":"y","io.kubernetes.cri.pod-annotations":{"Mac":"z"}}})"})
    EXPECT_EQ(ParseWishes(config), Wishes()) << config;
}

}  // namespace
}  // namespace kuryr::cni
