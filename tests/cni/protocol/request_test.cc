#include "cni/protocol/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cni/protocol/error.h"
#include "tests/support/paths.h"

namespace kuryr::cni {
namespace {

using ::testing::HasSubstr;

Environment AddEnvironment() {
  return {
      .command = "ADD",
      .container_id = "c7350ee35c77",
      .netns = "/var/run/netns/cni-1",
      .ifname = "eth0",
      .args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=a1;K8S_POD_UID=b57463f9-0468",
      .path = "/opt/cni/bin"};
}

constexpr const char* kInput = R"({"cniVersion":"0.3.1","name":"kuryr","type":"kuryr-cni"})";

CniError Failure(const Environment& environment, std::string_view input) {
  try {
    (void)ParseRequest(environment, input);
  } catch (const CniError& e) {
    return e;
  }
  ADD_FAILURE() << "accepted: " << input;
  return {ErrorCode::kInternal, "accepted"};
}

TEST(RequestTest, TellsWhatTheRuntimeSays) {
  const Request request = ParseRequest(
      AddEnvironment(),
      R"({"cniVersion":"0.3.1","debug":true,"kuryr_conf":"/etc/k.conf","name":"kuryr","type":"k"})");

  EXPECT_EQ(request.command, Command::kAdd);
  EXPECT_EQ(request.config.version, SpecVersion::k031);
  EXPECT_EQ(request.config.cni_version, "0.3.1");
  EXPECT_EQ(request.config.name, "kuryr");
  EXPECT_EQ(request.container_id, "c7350ee35c77");
  EXPECT_EQ(request.netns, "/var/run/netns/cni-1");
  EXPECT_EQ(request.ifname, "eth0");
  EXPECT_EQ(request.pod, (PodArgs{"default", "a1", "b57463f9-0468"}));
  EXPECT_EQ(request.config.kuryr_conf, "/etc/k.conf");
  EXPECT_TRUE(request.config.debug);
}

TEST(RequestTest, ENV_06_AllMissingVariablesAreNamedAtOnce) {
  const CniError error = Failure({.command = "ADD"}, kInput);

  EXPECT_EQ(error.code(), ErrorCode::kInvalidEnvironment);
  EXPECT_THAT(error.what(), HasSubstr("CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME"));
}

TEST(RequestTest, ENV_13_DelNeedsNoNamespaceAndNoArgs) {
  Environment environment = AddEnvironment();
  environment.command = "DEL";
  for (const auto& netns : {std::optional<std::string>(), std::optional<std::string>("")}) {
    environment.netns = netns;
    environment.args = "rubbish";
    EXPECT_EQ(ParseRequest(environment, kInput).netns, "");
  }
}

TEST(RequestTest, DelTakesThePodForPeopleWhereItIsWellNamed) {
  Environment environment = AddEnvironment();
  environment.command = "DEL";

  EXPECT_EQ(ParseRequest(environment, kInput).pod, (PodArgs{"default", "a1", "b57463f9-0468"}));
  for (const char* args : {"rubbish", "K8S_POD_NAMESPACE=default;K8S_POD_NAME=a/b", "UNKNOWN=1"}) {
    environment.args = args;
    EXPECT_EQ(ParseRequest(environment, kInput).pod, PodArgs()) << args;
  }
}

TEST(RequestTest, VER_05_EveryCommandButVersionRefusesAnUnsupportedVersion) {
  for (const char* command : {"ADD", "DEL", "CHECK", "GC", "STATUS"}) {
    Environment environment = AddEnvironment();
    environment.command = command;
    EXPECT_EQ(Failure(environment, R"({"name":"k","cniVersion":"9.9.9"})").code(),
              ErrorCode::kIncompatibleVersion)
        << command;
  }
}

TEST(RequestTest, VER_08_09_10_ACommandIsRefusedInVersionsThatLackIt) {
  const std::vector<std::pair<const char*, SpecVersion>> first = {
      {"CHECK", SpecVersion::k040}, {"GC", SpecVersion::k110}, {"STATUS", SpecVersion::k110}};
  for (const auto& [command, since] : first) {
    Environment environment = AddEnvironment();
    environment.command = command;
    for (const std::string_view version : kSupportedVersions) {
      const std::string input = R"({"name":"k","cniVersion":")" + std::string(version) +
                                R"(","prevResult":{},"cni.dev/attachments":[]})";
      if (*ParseVersion(version) >= since) {
        EXPECT_NO_THROW((void)ParseRequest(environment, input)) << command << " " << version;
      } else {
        EXPECT_EQ(Failure(environment, input).code(), ErrorCode::kIncompatibleVersion)
            << command << " " << version;
      }
    }
  }
}

TEST(RequestTest, CHK_06_GC_04_WhatACommandCannotDoWithoutIsCode7) {
  Environment environment = AddEnvironment();
  for (const auto& [command, missing] :
       {std::pair{"CHECK", "prevResult"}, std::pair{"GC", "cni.dev/valid-attachments"}}) {
    environment.command = command;
    const CniError error = Failure(environment, R"({"cniVersion":"1.1.0","name":"k"})");
    EXPECT_EQ(error.code(), ErrorCode::kInvalidConfig);
    EXPECT_THAT(error.what(), HasSubstr(missing));
  }
}

TEST(RequestTest, AStandaloneNetworkNeedsNoPod) {
  Environment environment = AddEnvironment();
  environment.args = std::nullopt;

  EXPECT_EQ(Failure(environment, kInput).code(), ErrorCode::kInvalidEnvironment);
  EXPECT_EQ(
      ParseRequest(environment, R"({"cniVersion":"1.0.0","name":"k","ipam":{"type":"x"}})").pod,
      PodArgs());
}

TEST(RequestTest, ENV_24_TheNamespaceMayBeOurOwnWhenSaidSo) {
  Environment environment = AddEnvironment();
  for (const auto& [text, allowed] : {std::pair{"1", true}, std::pair{"true", true},
                                      std::pair{"0", false}, std::pair{"", false}}) {
    environment.netns_override = text;
    EXPECT_EQ(ParseRequest(environment, kInput).netns_override, allowed) << text;
  }
}

TEST(RequestTest, VER_02_03_VersionAnswersInTheInputsVersionWhateverTheRest) {
  const Environment dummy = {.command = "VERSION",
                             .container_id = "",
                             .netns = "dummy",
                             .ifname = "dummy",
                             .args = std::nullopt};

  EXPECT_EQ(ParseRequest(dummy, R"({"cniVersion":"0.2.0"})").config.cni_version, "0.2.0");
  EXPECT_EQ(ParseRequest(dummy, "").config.cni_version, "1.1.0");
}

/// A file of tests/data/cni-calls as the runtime called the plugin.
std::map<std::string, std::string> ReadVariables(const std::filesystem::path& file) {
  std::map<std::string, std::string> variables;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const size_t equals = line.find('=');
    if (equals != std::string::npos) variables[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return variables;
}

TEST(RequestTest, EveryCallThatRuntimesMadeIsUnderstood) {
  size_t calls = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(test::TestData() + "/cni-calls")) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() != ".env" || name.find("kuryr-cni") == std::string::npos) continue;
    if (entry.path().string().find("podman") != std::string::npos &&
        name.find("ADD") != std::string::npos) {
      continue;  // podman names no pod
    }
    auto variables = ReadVariables(entry.path());
    std::filesystem::path stdin_file = entry.path();
    stdin_file.replace_extension(".stdin");
    std::ostringstream input;
    input << std::ifstream(stdin_file).rdbuf();

    const Request request = ParseRequest({.command = variables["CNI_COMMAND"],
                                          .container_id = variables["CNI_CONTAINERID"],
                                          .netns = variables["CNI_NETNS"],
                                          .ifname = variables["CNI_IFNAME"],
                                          .args = variables["CNI_ARGS"]},
                                         input.str());

    EXPECT_TRUE(request.command != Command::kAdd || !request.pod.uid.empty()) << entry.path();
    ++calls;
  }
  EXPECT_GT(calls, 20U);
}

}  // namespace
}  // namespace kuryr::cni
