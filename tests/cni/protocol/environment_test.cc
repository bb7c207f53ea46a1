#include "cni/protocol/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Environment Complete() {
  return {.command = "ADD",
          .container_id = "c7350ee35c77",
          .netns = "/var/run/netns/cni-1",
          .ifname = "eth0",
          .path = "/opt/cni/bin"};
}

/// The message; empty when the environment is accepted.
std::string Failure(Command command, const Environment& environment) {
  try {
    CheckEnvironment(command, environment);
  } catch (const CniError& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidEnvironment);
    return e.what();
  }
  return "";
}

TEST(EnvironmentTest, ENV_01_02_AMissingOrUnknownCommandIsCode4) {
  for (const char* text : {"", "add", "FOO", "ADD ", "VERSION\n"}) {
    try {
      (void)ParseCommand(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const CniError& e) {
      EXPECT_EQ(e.code(), ErrorCode::kInvalidEnvironment) << text;
      EXPECT_THAT(e.what(), HasSubstr("CNI_COMMAND"));
    }
  }
}

TEST(EnvironmentTest, EveryCommandHasItsName) {
  for (const char* text : {"ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION"})
    EXPECT_STREQ(ToString(ParseCommand(text)), text);
}

TEST(EnvironmentTest, ENV_03_04_05_WhatIsMissingIsNamed) {
  for (const Command command : {Command::kAdd, Command::kCheck, Command::kDel}) {
    for (const std::optional<std::string>& none : {std::optional<std::string>(), {""}}) {
      Environment environment = Complete();
      environment.container_id = none;
      EXPECT_THAT(Failure(command, environment), HasSubstr("CNI_CONTAINERID"));
      environment = Complete();
      environment.ifname = none;
      EXPECT_THAT(Failure(command, environment), HasSubstr("CNI_IFNAME"));
      environment = Complete();
      environment.netns = none;
      const bool is_del = command == Command::kDel;
      EXPECT_EQ(Failure(command, environment),
                is_del ? "" : "missing environment variables: CNI_NETNS");
    }
  }
}

TEST(EnvironmentTest, ENV_06_AllThatIsMissingIsNamedAtOnce) {
  EXPECT_THAT(Failure(Command::kAdd, {}), HasSubstr("CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME"));
}

TEST(EnvironmentTest, ENV_07_AContainerIdIsAnIdentifier) {
  Environment environment = Complete();
  for (const char* bad :
       {".", "..", "-a", "_a", "a/b", "../etc", "a b", "a:b", "a\n", "\xc3\xa4"}) {
    environment.container_id = bad;
    EXPECT_THAT(Failure(Command::kDel, environment), HasSubstr("CNI_CONTAINERID=")) << bad;
  }
}

TEST(EnvironmentTest, ENV_08_EveryAllowedCharacterAndAnyLengthIsAccepted) {
  Environment environment = Complete();
  for (const std::string& id : {std::string("0aZ_.-"), std::string(4096, 'f')}) {
    environment.container_id = id;
    EXPECT_EQ(Failure(Command::kAdd, environment), "");
  }
}

TEST(EnvironmentTest, ENV_09_10_AnInterfaceNameFollowsTheKernelsRule) {
  Environment environment = Complete();
  for (const char* bad :
       {".", "..", "a/b", "a:b", "a b", "a\tb", "sixteen-letters-", "e\x01", "\xc3\xa4"}) {
    environment.ifname = bad;
    EXPECT_THAT(Failure(Command::kDel, environment), HasSubstr("CNI_IFNAME=")) << bad;
  }
  environment.ifname = "fifteen-letters";
  EXPECT_EQ(Failure(Command::kAdd, environment), "");
}

TEST(EnvironmentTest, ENV_11_OnlyADelegateNeedsAPath) {
  Environment environment = Complete();
  environment.path.reset();
  for (const Command command : {Command::kAdd, Command::kCheck, Command::kDel})
    EXPECT_EQ(Failure(command, environment), "");
}

TEST(EnvironmentTest, ENV_12_WhatIsInvalidIsNamedBesideWhatIsMissing) {
  EXPECT_THAT(Failure(Command::kAdd, {.container_id = "../etc", .ifname = "a/b"}),
              AllOf(HasSubstr("missing environment variables: CNI_NETNS"),
                    HasSubstr("CNI_CONTAINERID=../etc"), HasSubstr("CNI_IFNAME=a/b")));
}

TEST(EnvironmentTest, ENV_14_StatusNeedsNothingAndGcItsPath) {
  EXPECT_EQ(Failure(Command::kStatus, {}), "");
  EXPECT_EQ(Failure(Command::kVersion, {}), "");
  EXPECT_EQ(Failure(Command::kGc, {.path = "/opt/cni/bin"}), "");
  EXPECT_EQ(Failure(Command::kGc, {.path = ""}), "missing environment variables: CNI_PATH");
}

TEST(EnvironmentTest, WhatOthersWroteIsMadePrintable) {
  EXPECT_THAT(
      Failure(Command::kDel, {.container_id = "a\x1b[2J", .ifname = std::string(5000, 'x')}),
      AllOf(HasSubstr("a\\x1b[2J"), Not(HasSubstr(std::string(100, 'x')))));
}

}  // namespace
}  // namespace kuryr::cni
