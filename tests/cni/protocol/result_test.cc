#include "cni/protocol/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

Result DualStack() {
  Result result;
  result.interfaces = {
      {.name = "tap2faf4e00-fc", .mac = "02:00:00:00:00:01", .sandbox = ""},
      {.name = "eth0", .mac = "fa:16:3e:29:cf:9e", .sandbox = "/var/run/netns/cni-1"}};
  result.ips = {
      {.address = *IpNetwork::Parse("10.10.1.8/16"),
       .gateway = IpAddress::Parse("10.10.0.254"),
       .interface = 1},
      {.address = *IpNetwork::Parse("10.10.1.9/16"), .gateway = std::nullopt, .interface = 1},
      {.address = *IpNetwork::Parse("fd00::8/64"),
       .gateway = IpAddress::Parse("fd00::1"),
       .interface = 1}};
  result.routes = {
      {.destination = *IpNetwork::Parse("0.0.0.0/0"), .gateway = IpAddress::Parse("10.10.0.254")},
      {.destination = *IpNetwork::Parse("fd01::/64"), .gateway = std::nullopt}};
  result.dns.nameservers = {"8.8.8.8"};
  return result;
}

TEST(ResultTest, RES_01_15_TheOldestFormHasOneAddressPerFamily) {
  const json expected = json::parse(R"({"cniVersion":"0.2.0",
    "ip4":{"ip":"10.10.1.8/16","gateway":"10.10.0.254","routes":[{"dst":"0.0.0.0/0","gw":"10.10.0.254"}]},
    "ip6":{"ip":"fd00::8/64","gateway":"fd00::1","routes":[{"dst":"fd01::/64"}]},
    "dns":{"nameservers":["8.8.8.8"]}})");

  EXPECT_EQ(json(EncodeResult(DualStack(), SpecVersion::k020)), expected);
}

TEST(ResultTest, RES_02_04_05_07_TheMiddleFormListsEveryAddressWithItsFamily) {
  const json expected = json::parse(R"({"cniVersion":"0.3.1",
    "interfaces":[{"name":"tap2faf4e00-fc","mac":"02:00:00:00:00:01"},
                  {"name":"eth0","mac":"fa:16:3e:29:cf:9e","sandbox":"/var/run/netns/cni-1"}],
    "ips":[{"version":"4","address":"10.10.1.8/16","gateway":"10.10.0.254","interface":1},
           {"version":"4","address":"10.10.1.9/16","interface":1},
           {"version":"6","address":"fd00::8/64","gateway":"fd00::1","interface":1}],
    "routes":[{"dst":"0.0.0.0/0","gw":"10.10.0.254"},{"dst":"fd01::/64"}],
    "dns":{"nameservers":["8.8.8.8"]}})");

  EXPECT_EQ(json(EncodeResult(DualStack(), SpecVersion::k031)), expected);
}

TEST(ResultTest, RES_03_TheNewFormHasNoFamily) {
  const json result = EncodeResult(DualStack(), SpecVersion::k100);

  EXPECT_EQ(result["cniVersion"], "1.0.0");
  for (const json& ip : result["ips"]) EXPECT_FALSE(ip.contains("version"));
}

TEST(ResultTest, VER_06_TheResultNamesTheAskedVersion) {
  for (const auto version : kSupportedVersions) {
    EXPECT_EQ(EncodeResult(DualStack(), *ParseVersion(version))["cniVersion"], version);
  }
}

TEST(ResultTest, RES_16_NoAddressCannotBeToldInTheOldestForm) {
  Result result = DualStack();
  result.ips.clear();

  EXPECT_THROW((void)EncodeResult(result, SpecVersion::k020), CniError);
  EXPECT_FALSE(EncodeResult(result, SpecVersion::k030).contains("ips"));
}

TEST(ResultTest, RES_19_EmptyListsAreLeftOut) {
  Result result = DualStack();
  result.routes.clear();
  result.dns = {};

  const json printed = EncodeResult(result, SpecVersion::k100);

  EXPECT_FALSE(printed.contains("routes"));
  EXPECT_FALSE(printed.contains("dns"));
}

/// With everything that only 1.1.0 can tell.
Result Newest() {
  Result result = DualStack();
  result.interfaces[1].mtu = 1450;
  result.interfaces[1].socket_path = "/var/cni/vhostuser/vhu1";
  result.interfaces[1].pci_id = "0000:00:05.0";
  result.routes[0].mtu = 1400;
  result.routes[0].advmss = 1360;
  result.routes[0].priority = 0;
  result.routes[0].table = 4294967295;
  result.routes[0].scope = 253;
  return result;
}

TEST(ResultTest, RES_08_10_11_TheNewestFormTellsMtuSocketDeviceAndRoutesDetails) {
  const json printed = EncodeResult(Newest(), SpecVersion::k110);

  EXPECT_EQ(printed["interfaces"][1],
            json::parse(R"({"name":"eth0","mac":"fa:16:3e:29:cf:9e","mtu":1450,
              "sandbox":"/var/run/netns/cni-1","socketPath":"/var/cni/vhostuser/vhu1",
              "pciID":"0000:00:05.0"})"));
  EXPECT_EQ(printed["routes"][0],
            json::parse(R"({"dst":"0.0.0.0/0","gw":"10.10.0.254","mtu":1400,"advmss":1360,
              "priority":0,"table":4294967295,"scope":253})"));
  EXPECT_EQ(DecodeResult(printed, SpecVersion::k010), Newest());
}

TEST(ResultTest, RES_09_21_VER_14_OlderFormsHaveNoneOfThat) {
  json older = EncodeResult(Newest(), SpecVersion::k100);
  EXPECT_EQ(older, json(EncodeResult(DualStack(), SpecVersion::k100)));

  json newer = EncodeResult(DualStack(), SpecVersion::k110);
  older.erase("cniVersion");
  newer.erase("cniVersion");
  EXPECT_EQ(older, newer);
}

TEST(ResultTest, RES_02_AllOfTheMiddleVersionsAreOneForm) {
  json expected = EncodeResult(DualStack(), SpecVersion::k031);
  for (const SpecVersion version : {SpecVersion::k030, SpecVersion::k040}) {
    expected["cniVersion"] = ToString(version);
    EXPECT_EQ(json(EncodeResult(DualStack(), version)), expected);
  }
}

TEST(ResultTest, RES_17_AnOldResultsAddressesAreOfNoInterface) {
  const Result result = DecodeResult(json::parse(R"({"cniVersion":"0.2.0",
    "ip4":{"ip":"10.10.1.8/16","gateway":"10.10.0.254","routes":[{"dst":"0.0.0.0/0"}]}})"),
                                     SpecVersion::k110);

  ASSERT_EQ(result.ips.size(), 1U);
  EXPECT_FALSE(result.ips[0].interface);
  const json newer = EncodeResult(result, SpecVersion::k040);
  EXPECT_EQ(newer["ips"], json::parse(R"([{"version":"4","address":"10.10.1.8/16",
                                           "gateway":"10.10.0.254"}])"));
  EXPECT_EQ(newer["routes"], json::parse(R"([{"dst":"0.0.0.0/0"}])"));
}

TEST(ResultTest, RES_18_UnusualAddressesSurvive) {
  Result result;
  for (const char* address : {"10.0.0.0/31", "10.0.0.1/32", "fd00::1/127", "fd00::1/128",
                              "::ffff:10.0.0.1/120", "0.0.0.0/0"})
    result.ips.push_back({.address = *IpNetwork::Parse(address),
                          .gateway = IpAddress::Parse("192.0.2.1"),  // outside the subnet
                          .interface = std::nullopt});

  for (const SpecVersion version : {SpecVersion::k031, SpecVersion::k100, SpecVersion::k110})
    EXPECT_EQ(DecodeResult(EncodeResult(result, version), SpecVersion::k010), result);
}

TEST(ResultTest, RES_19_NullIsReadAsMissing) {
  for (const char* text :
       {R"({"cniVersion":"1.0.0","interfaces":null,"ips":null,"routes":null,"dns":null})",
        R"({"cniVersion":"0.2.0","ip4":null,"ip6":null,"dns":{"nameservers":null,"domain":null}})",
        R"({"cniVersion":null,"dns":{}})"})
    EXPECT_EQ(DecodeResult(json::parse(text), SpecVersion::k100), Result()) << text;
  const Result result = DecodeResult(
      json::parse(R"({"ips":[{"address":"10.0.0.1/24","gateway":null,"interface":null}]})"),
      SpecVersion::k100);
  EXPECT_EQ(result.ips.at(0), (ResultIp{.address = *IpNetwork::Parse("10.0.0.1/24")}));
}

TEST(ResultTest, WhatIsNoResultIsNamedByItsPath) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {"[]", "$: "},
      {R"({"cniVersion":"2.0.0"})", "$.cniVersion"},
      {R"({"interfaces":{}})", "$.interfaces"},
      {R"({"interfaces":[7]})", "$.interfaces[0]"},
      {R"({"interfaces":[{"name":7}]})", "$.interfaces[0].name"},
      {R"({"interfaces":[{"mtu":-1}]})", "$.interfaces[0].mtu"},
      {R"({"ips":[{}]})", "$.ips[0].address"},
      {R"({"ips":[{"address":"10.0.0.1/24","interface":0}]})", "$.ips[0].interface: is 0 of 0"},
      {R"({"routes":[{"dst":"x"}]})", "$.routes[0].dst"},
      {R"({"routes":[{"dst":"0.0.0.0/0","table":4294967296}]})", "$.routes[0].table"},
      {R"({"dns":{"search":"a"}})", "$.dns.search"},
  };
  for (const auto& [text, path] : wrong) {
    try {
      (void)DecodeResult(json::parse(text), SpecVersion::k100);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const ParseError& e) {
      EXPECT_THAT(e.what(), HasSubstr(path)) << text;
    }
  }
}

json Appended(const json& previous, const Result& added, SpecVersion version) {
  return AppendResult(previous, DecodeResult(previous, version), added, version);
}

TEST(ChainTest, CHN_01_AnAnswerThatAddsNothingIsThePreviousResult) {
  for (const std::string_view name : kSupportedVersions) {
    const SpecVersion version = *ParseVersion(name);
    const json previous = EncodeResult(DualStack(), version);
    EXPECT_EQ(Appended(previous, {}, version), previous) << name;
  }
}

TEST(ChainTest, CHN_02_OursGoesBehindAndUnknownMembersStay) {
  const json previous = json::parse(R"({"cniVersion":"1.0.0","interfaces":[
    {"name":"z","sandbox":"/a","theirs":1},{"name":"a"}],"ips":[{"address":"10.0.0.9/24","interface":0}],
    "routes":[{"dst":"10.9.0.0/16"}],"dns":{"domain":"x"},"theirs":{"a":[]}})");

  const json all = Appended(previous, DualStack(), SpecVersion::k100);

  json expected = previous;
  const json ours = EncodeResult(DualStack(), SpecVersion::k100);
  for (const char* list : {"interfaces", "ips", "routes"})
    expected[list].insert(expected[list].end(), ours[list].begin(), ours[list].end());
  for (size_t i = 1; i < expected["ips"].size(); ++i) expected["ips"][i]["interface"] = 3;
  EXPECT_EQ(all, expected);
}

TEST(ChainTest, CHN_02_TheResolverIsOursWhereThePreviousResultNamesNone) {
  for (const char* dns : {"null", "{}", R"({"nameservers":[]})", R"({"theirs":1})"}) {
    const json previous = {{"cniVersion", "1.0.0"}, {"dns", json::parse(dns)}};
    const json all = Appended(previous, DualStack(), SpecVersion::k100);
    EXPECT_EQ(all["dns"].value("nameservers", json()), json({"8.8.8.8"})) << dns;
    EXPECT_EQ(all["dns"].contains("theirs"), previous["dns"].contains("theirs"));
  }
}

TEST(ChainTest, CHN_03_APreviousResultWithoutVersionHasTheConfigurations) {
  json previous = EncodeResult(DualStack(), SpecVersion::k020);
  previous.erase("cniVersion");

  EXPECT_EQ(Appended(previous, {}, SpecVersion::k020),
            json(EncodeResult(DualStack(), SpecVersion::k020)));
  EXPECT_EQ(DecodeResult(previous, SpecVersion::k020).ips.size(), 2U);
  EXPECT_TRUE(DecodeResult(previous, SpecVersion::k100).ips.empty());
}

TEST(ChainTest, CHN_04_APreviousResultOfAnotherVersionIsConverted) {
  const json previous = EncodeResult(DualStack(), SpecVersion::k031);

  EXPECT_EQ(Appended(previous, {}, SpecVersion::k100),
            json(EncodeResult(DualStack(), SpecVersion::k100)));
  EXPECT_EQ(Appended(previous, {}, SpecVersion::k010),
            json(EncodeResult(DualStack(), SpecVersion::k010)));
  EXPECT_THROW((void)Appended({{"cniVersion", "7.0.0"}}, {}, SpecVersion::k100), ParseError);
}

TEST(ChainTest, RES_15_TheOldestFormKeepsTheChainsFirstAddress) {
  Result added;
  added.ips = {{.address = *IpNetwork::Parse("10.99.0.1/24"), .gateway = {}, .interface = {}}};
  const json previous = EncodeResult(DualStack(), SpecVersion::k020);

  EXPECT_EQ(Appended(previous, added, SpecVersion::k020), previous);
}

TEST(ErrorTest, ERR_01_AnErrorHasVersionCodeMessageAndDetails) {
  const CniError error(ErrorCode::kTryAgainLater, "timed out", "why\xff");

  const json printed = json::parse(ErrorJson(error, "0.3.1"));

  EXPECT_EQ(printed["cniVersion"], "0.3.1");
  EXPECT_EQ(printed["code"], 11);
  EXPECT_EQ(printed["msg"], "timed out");
  EXPECT_EQ(printed["details"], "why\xef\xbf\xbd");
}

}  // namespace
}  // namespace kuryr::cni
