#include "cni/protocol/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Environment AddEnvironment() {
  return {
      .command = "ADD",
      .container_id = "c7350ee35c77",
      .netns = "/var/run/netns/cni-1",
      .ifname = "eth0",
      .args =
          "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=a1;K8S_POD_UID=b57463f9-0468"};
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

TEST(RequestTest, ENV_02_AnUnknownCommandIsCode4) {
  Environment environment = AddEnvironment();
  for (const char* command : {"", "add", "FOO"}) {
    environment.command = command;
    EXPECT_EQ(Failure(environment, kInput).code(), ErrorCode::kInvalidEnvironment) << command;
  }
}

TEST(RequestTest, ENV_06_AllMissingVariablesAreNamedAtOnce) {
  const CniError error = Failure({.command = "ADD"}, kInput);

  EXPECT_EQ(error.code(), ErrorCode::kInvalidEnvironment);
  EXPECT_THAT(error.what(), HasSubstr("CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME"));
}

TEST(RequestTest, ENV_12_InvalidVariablesAreNamedBesideTheMissing) {
  Environment environment = AddEnvironment();
  environment.container_id = "../etc";
  environment.netns.reset();
  environment.ifname = "a/b";

  const CniError error = Failure(environment, kInput);

  EXPECT_THAT(error.what(), HasSubstr("missing environment variables: CNI_NETNS"));
  EXPECT_THAT(error.what(), HasSubstr("CNI_CONTAINERID=../etc"));
  EXPECT_THAT(error.what(), HasSubstr("CNI_IFNAME=a/b"));
}

TEST(RequestTest, ENV_09_AnInterfaceNameFollowsTheKernelsRule) {
  Environment environment = AddEnvironment();
  for (const char* bad :
       {".", "..", "a/b", "a:b", "a b", "a\tb", "sixteen-letters-", "e\x01", "\xc3\xa4"}) {
    environment.ifname = bad;
    EXPECT_EQ(Failure(environment, kInput).code(), ErrorCode::kInvalidEnvironment) << bad;
  }
  environment.ifname = "fifteen-letters";
  EXPECT_EQ(ParseRequest(environment, kInput).ifname, "fifteen-letters");
}

TEST(RequestTest, ENV_08_EveryAllowedCharacterOfAContainerIdIsAccepted) {
  Environment environment = AddEnvironment();
  environment.container_id = "0aZ_.-" + std::string(64, 'f');

  EXPECT_EQ(ParseRequest(environment, kInput).container_id, environment.container_id);
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

TEST(RequestTest, ENV_17_ArgsAreKeyValuePairsAndUnknownKeysNeedIgnoreUnknown) {
  EXPECT_EQ(ParseArgs("K8S_POD_NAME=a;FOO=b;IgnoreUnknown=1").pod.name, "a");
  for (const char* bad :
       {"K8S_POD_NAME", "K8S_POD_NAME=a=b", "=a", ";", "FOO=b", "FOO=b;IgnoreUnknown=0"}) {
    EXPECT_THROW((void)ParseArgs(bad), CniError) << bad;
  }
}

TEST(RequestTest, APodsNameCannotLeaveItsUrl) {
  Environment environment = AddEnvironment();
  for (const char* bad : {"../secrets", "a?watch=true", "a b", "A", "a%2f", ""}) {
    environment.args = std::string("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=") + bad;
    EXPECT_EQ(Failure(environment, kInput).code(), ErrorCode::kInvalidEnvironment) << bad;
  }
}

TEST(RequestTest, CFG_01_02_03_WhatIsNoJsonObjectIsCode6) {
  for (const char* input :
       {"", "{", "[]", "\"x\"", "null", "{\"name\":\"a\",\"name\":\"b\"}", "{\"name\":\"\xff\"}"}) {
    EXPECT_EQ(Failure(AddEnvironment(), input).code(), ErrorCode::kDecodeFailure) << input;
  }
  EXPECT_EQ(Failure(AddEnvironment(), std::string(100'000, '[')).code(), ErrorCode::kDecodeFailure);
}

TEST(RequestTest, CFG_04_05_ANetworkNameIsRequiredAndChecked) {
  for (const char* input :
       {R"({"cniVersion":"0.3.1"})", R"({"cniVersion":"0.3.1","name":""})",
        R"({"cniVersion":"0.3.1","name":"a/b"})", R"({"cniVersion":"0.3.1","name":"-a"})",
        R"({"cniVersion":"0.3.1","name":7})"}) {
    EXPECT_EQ(Failure(AddEnvironment(), input).code(), ErrorCode::kInvalidConfig) << input;
  }
}

TEST(RequestTest, CFG_09_OwnFieldsOfAWrongTypeAreCode7) {
  for (const char* input : {R"({"cniVersion":"0.3.1","name":"k","kuryr_conf":1})",
                            R"({"cniVersion":"0.3.1","name":"k","debug":"true"})"}) {
    EXPECT_EQ(Failure(AddEnvironment(), input).code(), ErrorCode::kInvalidConfig) << input;
  }
}

TEST(RequestTest, CFG_10_APluginNameHasNoPath) {
  for (const char* input :
       {R"({"cniVersion":"0.3.1","name":"k","type":"../x"})",
        R"({"cniVersion":"0.3.1","name":"k","type":"x","ipam":{"type":"/bin/sh"}})"}) {
    EXPECT_EQ(Failure(AddEnvironment(), input).code(), ErrorCode::kInvalidConfig) << input;
  }
}

TEST(RequestTest, VER_04_05_12_AnUnsupportedVersionIsCode1AndNamesBothSides) {
  for (const char* command : {"ADD", "DEL"}) {
    Environment environment = AddEnvironment();
    environment.command = command;
    for (const char* version : {"9.9.9", "1.0", "v1.0.0", "1.0.0-rc1"}) {
      const CniError error =
          Failure(environment, std::string(R"({"name":"k","cniVersion":")") + version + R"("})");

      EXPECT_EQ(error.code(), ErrorCode::kIncompatibleVersion) << version;
      EXPECT_THAT(error.details(), HasSubstr(version));
      EXPECT_THAT(error.details(), HasSubstr("1.0.0"));
    }
  }
}

TEST(RequestTest, VER_07_NoVersionMeans010) {
  EXPECT_EQ(ParseRequest(AddEnvironment(), R"({"name":"k"})").config.version, SpecVersion::k010);
}

TEST(RequestTest, VER_11_AVersionOfAWrongTypeIsCode6) {
  EXPECT_EQ(Failure(AddEnvironment(), R"({"name":"k","cniVersion":1})").code(),
            ErrorCode::kDecodeFailure);
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

TEST(RequestTest, SecretsOfTheConfigurationDoNotReachAnError) {
  const CniError error =
      Failure(AddEnvironment(), R"({"cniVersion":"0.3.1","name":"k","debug":1,"token":"s3cret"})");

  EXPECT_THAT(ErrorJson(error, "0.3.1"), Not(HasSubstr("s3cret")));
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
       std::filesystem::recursive_directory_iterator(KURYR_TEST_DATA "/cni-calls")) {
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
