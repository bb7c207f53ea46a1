#include "cni/standalone/delegate.h"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cni/protocol/error.h"
#include "tests/cni/standalone/fake_delegate.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kAnswer =
    R"(cat >/dev/null; echo '{"cniVersion":"1.1.0","ips":[{"address":"10.0.0.7/24"}]}')";
/// For a script that knows the version asked for.
constexpr const char* kKnows110 =
    R"([ $CNI_COMMAND != VERSION ] || echo '{"supportedVersions":["1.0.0","1.1.0"]}')";

class DelegateTest : public FakeDelegateTest {
 protected:
  DelegateTest() {
    request_.config = ParseNetworkConfig(
        json::parse(
            R"({"cniVersion":"1.1.0","name":"net","ipam":{"type":"fake","a":[1]},"theirs":"x"})"),
        Command::kAdd);
    request_.container_id = "c7350ee3";
    request_.netns = "/var/run/netns/cni-1";
    request_.ifname = "eth0";
    request_.args = "IgnoreUnknown=1;K8S_POD_NAME=a1";
    request_.path = dir_;
  }

  [[nodiscard]] Delegate Make() const { return {request_, request_.config.json}; }
  [[nodiscard]] Result Add() const { return Make().Add(Soon()); }
  static Deadline Soon() { return Deadline::After(60s); }
  /// The error of an ADD, or of another `act`.
  [[nodiscard]] CniError Failure(const std::function<void()>& act) const {
    try {
      act();
    } catch (const CniError& e) {
      return e;
    }
    ADD_FAILURE() << "no failure";
    return {ErrorCode::kInternal, "none"};
  }
  [[nodiscard]] CniError Failure() const {
    return Failure([this] { (void)Add(); });
  }

  Request request_;
};

TEST_F(DelegateTest, DLG_01_TheFirstFileOfThePathIsExecuted) {
  std::filesystem::create_directories(dir_ / "a" / "fake");
  Script(kAnswer, "b/fake");
  Script("exit 1", "c/fake");
  const std::string dir = dir_;
  request_.path = ":/nonexistent:" + dir + "/a:" + dir + "/b:" + dir + "/c";

  EXPECT_EQ(Add().ips.at(0).address, IpNetwork::Parse("10.0.0.7/24"));
}

TEST_F(DelegateTest, DLG_01_ERR_06_OneThatIsInNoFolderIsNamedInWordsThatRuntimesDoNotIgnore) {
  const CniError missing = Failure();
  EXPECT_EQ(missing.code(), ErrorCode::kDelegateFailure);
  EXPECT_THAT(missing.what(), AllOf(HasSubstr("fake"), Not(HasSubstr("not found"))));
  EXPECT_THAT(missing.details(), HasSubstr(dir_.string()));

  request_.path = "";
  const CniError no_path = Failure();
  EXPECT_EQ(no_path.code(), ErrorCode::kInvalidEnvironment);
  EXPECT_THAT(no_path.what(), HasSubstr("CNI_PATH"));
}

TEST_F(DelegateTest, DLG_02_ItGetsOurEnvironmentAndTheWholeConfiguration) {
  ::setenv("KURYR_TEST_INHERITED", "yes", 1);
  ::setenv("CNI_IFNAME", "of the caller's caller", 1);
  Script("env >$DIR/env; cat >$DIR/stdin; echo '{\"ips\":[{\"address\":\"10.0.0.7/24\"}]}'");

  (void)Add();

  const std::string env = "\n" + Read("env");
  for (const char* variable :
       {"CNI_COMMAND=ADD", "CNI_CONTAINERID=c7350ee3", "CNI_NETNS=/var/run/netns/cni-1",
        "CNI_IFNAME=eth0", "CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAME=a1", "KURYR_TEST_INHERITED=yes"})
    EXPECT_THAT(env, HasSubstr("\n" + std::string(variable) + "\n"));
  EXPECT_THAT(env, HasSubstr("\nCNI_PATH=" + dir_.string() + "\n"));
  EXPECT_THAT(env, Not(HasSubstr("caller")));
  EXPECT_EQ(json::parse(Read("stdin")), request_.config.json);
}

TEST_F(DelegateTest, DLG_02_WhatIsNotSetIsNotSet) {
  request_.netns = "";
  request_.args = "";
  Script("env >$DIR/env");

  Make().Del(Soon());

  EXPECT_THAT(Read("env"), AllOf(HasSubstr("CNI_COMMAND=DEL"), Not(HasSubstr("CNI_NETNS")),
                                 Not(HasSubstr("CNI_ARGS"))));
}

TEST_F(DelegateTest, DLG_03_ItsStderrIsOurs) {
  Script(std::string("echo words >&2; ") + kAnswer);

  ::testing::internal::CaptureStderr();
  (void)Add();

  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "words\n");
}

TEST_F(DelegateTest, DLG_04_OtherCommandsAreExecutedToo) {
  Script(std::string("echo $CNI_COMMAND >>$DIR/commands; ") + kKnows110);

  Make().Check(Soon());
  Make().Del(Soon());
  Make().Gc(Soon());
  Make().Status(Soon());

  EXPECT_EQ(Read("commands"), "CHECK\nDEL\nVERSION\nGC\nVERSION\nSTATUS\n");
}

TEST_F(DelegateTest, DLG_04_OneThatDoesNotKnowTheVersionIsNotAskedForGcAndIsNotReady) {
  Script("echo $CNI_COMMAND >>$DIR/commands; echo '{\"supportedVersions\":[\"1.0.0\"]}'");

  Make().Gc(Soon());

  EXPECT_EQ(Failure([&] { Make().Status(Soon()); }).code(), ErrorCode::kNotAvailable);
  EXPECT_EQ(Read("commands"), "VERSION\nVERSION\n");
}

TEST_F(DelegateTest, DLG_04_AVersionAnswerThatIsNoneIsAFailure) {
  for (const char* answer : {"", "junk", "{}", "[]"}) {
    Script("echo '" + std::string(answer) + "'");
    EXPECT_EQ(Failure([&] { Make().Gc(Soon()); }).code(), ErrorCode::kDelegateFailure) << answer;
  }
}

TEST_F(DelegateTest, DLG_06_ItsErrorIsOurs) {
  Script(
      R"(echo '{"cniVersion":"1.0.0","code":11,"msg":"pool is full","details":"10.0.0.0/24"}'; exit 3)");

  for (const CniError& error :
       {Failure(), Failure([&] { Make().Check(Soon()); }), Failure([&] { Make().Del(Soon()); })}) {
    EXPECT_EQ(error.code(), ErrorCode::kTryAgainLater);
    EXPECT_STREQ(error.what(), "pool is full");
    EXPECT_EQ(error.details(), "10.0.0.0/24");
  }
}

TEST_F(DelegateTest, DLG_06_WhatIsInternalToItIsNotToUs) {
  Script(
      R"(echo '{"code":999,"msg":"no IP addresses available","details":"10.0.0.0/30"}'; exit 1)");

  const CniError error = Failure();

  EXPECT_EQ(error.code(), ErrorCode::kDelegateFailure);
  EXPECT_STREQ(error.what(), "plugin fake failed: no IP addresses available");
  EXPECT_EQ(error.details(), "10.0.0.0/30");
}

TEST_F(DelegateTest, DLG_06_AFailureWithoutAnErrorGetsOurWords) {
  for (const char* answer : {"", "panic!", "{}", "[]", R"({"code":"7"})", R"({"code":0})",
                             R"({"code":-1,"msg":"x"})", R"({"code":4294967297})"}) {
    Script("echo '" + std::string(answer) + "'; exit 9");
    const CniError error = Failure();
    EXPECT_EQ(error.code(), ErrorCode::kDelegateFailure) << answer;
    EXPECT_THAT(error.what(), AllOf(HasSubstr("fake"), HasSubstr("status 9"))) << answer;
    EXPECT_THAT(error.details(), HasSubstr(answer));
  }
}

TEST_F(DelegateTest, DLG_06_AnErrorWithoutWordsIsStillTold) {
  Script(R"(echo '{"code":11}'; exit 1)");

  EXPECT_EQ(Failure().code(), ErrorCode::kTryAgainLater);
  EXPECT_THAT(Failure().what(), HasSubstr("fake"));
}

TEST_F(DelegateTest, ADelOfOneThatDoesNotKnowTheVersionSucceeds) {
  Script(R"(echo '{"code":1,"msg":"incompatible CNI versions"}'; exit 1)");

  EXPECT_NO_THROW(Make().Del(Soon()));
  EXPECT_EQ(Failure().code(), ErrorCode::kIncompatibleVersion);
}

TEST_F(DelegateTest, DLG_07_JunkIsNoResult) {
  for (const char* answer : {"", "junk", "[]", R"({"ips":7})", R"({"ips":[{"address":"x"}]})",
                             R"({"cniVersion":"9.9.9","ips":[{"address":"10.0.0.7/24"}]})"}) {
    Script("echo '" + std::string(answer) + "'");
    const CniError error = Failure();
    EXPECT_EQ(error.code(), ErrorCode::kDelegateFailure) << answer;
    EXPECT_THAT(error.what(), HasSubstr("plugin fake answered no IPAM result"));
  }
}

TEST_F(DelegateTest, DLG_07_TooMuchIsNoResult) {
  Script("head -c 2097152 /dev/zero");

  EXPECT_EQ(Failure().code(), ErrorCode::kDelegateFailure);
}

TEST_F(DelegateTest, DLG_07_OneThatHangsIsGivenUpAtTheDeadline) {
  Script("exec sleep 600");

  try {
    (void)Make().Add(Deadline::After(100ms));
    ADD_FAILURE() << "answered";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::timed_out);
    EXPECT_THAT(e.what(), HasSubstr(dir_.string() + "/fake"));
  }
}

TEST_F(DelegateTest, DLG_07_WhatCannotBeExecutedIsAFailureOfTheDelegate) {
  std::ofstream(dir_ / "fake") << "text";

  EXPECT_EQ(Failure().code(), ErrorCode::kDelegateFailure);
}

TEST_F(DelegateTest, OneThatDoesNotReadItsConfigurationMayAnswer) {
  request_.config.json["padding"] = std::string(size_t{1} << 19, 'x');
  Script(R"(echo '{"ips":[{"address":"10.0.0.7/24"}]}')");

  EXPECT_EQ(Add().ips.size(), 1U);
}

TEST_F(DelegateTest, DLG_08_AResultWithoutAddressIsNone) {
  Script(R"(echo '{"cniVersion":"1.1.0","routes":[{"dst":"0.0.0.0/0"}]}')");

  EXPECT_EQ(Failure().code(), ErrorCode::kDelegateFailure);
  EXPECT_THAT(Failure().details(), HasSubstr("$.ips"));
}

TEST_F(DelegateTest, CHN_03_AResultWithoutVersionHasTheConfigurations) {
  Script(R"(echo '{"ips":[{"address":"10.0.0.7/24"}]}')");
  EXPECT_EQ(Add().ips.size(), 1U);

  request_.config.version = SpecVersion::k020;
  Script(R"(echo '{"ip4":{"ip":"10.0.0.7/24"}}')");
  EXPECT_EQ(Add().ips.size(), 1U);
}

}  // namespace
}  // namespace kuryr::cni
