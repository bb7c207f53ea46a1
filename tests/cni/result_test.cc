#include "cni/protocol/result.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

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
