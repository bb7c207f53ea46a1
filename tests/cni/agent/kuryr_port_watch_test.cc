#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "tests/cni/agent/kuryr_port_fixture.h"

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kPorts = "/apis/openstack.org/v1/kuryrports";

/// What is a failure of a watch, and what is none.
class KuryrPortWatchTest : public KuryrPortTest {
 protected:
  void SetUp() override {
    PluginTest::SetUp();
    WriteConfig(DefaultKubernetes() + "watch_retry_timeout = 1\n");
    AddBridge();
  }
  void HideKuryrPorts() {
    for (const char* verb : {"list", "watch"})
      api_->Inject({.verb = verb,
                    .path_prefix = kPorts,
                    .count = -1,
                    .answer = {.status = 404, .body = "404 page not found\n"}});
  }
  void LetReadOnly(const std::vector<std::string>& plurals) {
    fake::User user = {.name = "kuryr", .token = kToken, .verbs = {"create:events"}};
    for (const std::string& plural : plurals) {
      for (const char* verb : {"get:", "list:", "watch:"}) user.verbs.push_back(verb + plural);
    }
    api_->SetUsers({user});
  }
  /// `count` more tries of the agent. Three take a second: what counts as a failure has lasted by
  /// then.
  void AwaitTries(size_t count, const std::string& verb) {
    const auto requests = api_->Requests();
    const auto before = std::count_if(requests.begin(), requests.end(), [&](const auto& request) {
      return request.verb == verb && request.path == kPorts;
    });
    ASSERT_TRUE(api_->WaitForRequest(verb, kPorts, static_cast<size_t>(before) + count,
                                     std::chrono::seconds(60)));
  }
};

TEST_F(KuryrPortWatchTest, WithoutTheirDefinitionNothingIsMissingUntilItComes) {
  HideKuryrPorts();
  StartAgent();
  ASSERT_TRUE(api_->WaitForWatches(1));
  ASSERT_TRUE(api_->WaitForRequest("list", kPorts, 2));
  EXPECT_EQ(Status().status, 0) << Status().out;
  EXPECT_EQ(Run("ADD", ActivePod("annotated")).status, 0);

  api_->ClearFaults();
  const TestPod pod = MakePod("nginx");
  ASSERT_TRUE(api_->WaitForWatches(2));
  api_->Create(PortOf(pod, Vifs(Vif(pod, true))));
  EXPECT_EQ(Run("ADD", pod).status, 0);

  HideKuryrPorts();
  api_->DropWatches();
  AwaitTries(2, "list");
  EXPECT_EQ(Status().status, 0) << Status().out;
  const std::string log = EndAgent();
  EXPECT_EQ(Count(log, "the API server has no such resource"), 2U) << log;
  EXPECT_EQ(Count(log, "level=error"), 0U) << log;
}

/// By itself the agent asks for them after 2 s, 8 s, 32 s and 128 s.
TEST_F(KuryrPortWatchTest, APodWithoutAnnotationHasThemAskedForAgain) {
  HideKuryrPorts();
  StartAgent();

  for (size_t tries = 1; tries < 5; ++tries) {
    ASSERT_TRUE(api_->WaitForRequest("list", kPorts, tries)) << tries;
    (void)MakePod("pod-" + std::to_string(tries));
  }
}

TEST_F(KuryrPortWatchTest, AnAddWithoutAnnotationHasThemAskedForAgain) {
  WriteConfig(DefaultKubernetes(), "[cni_daemon]\nvif_annotation_timeout = 1\n");
  HideKuryrPorts();
  const TestPod pod = MakePod("nginx");
  StartAgent();

  // The first time of itself, and once because the pod was new to it.
  for (size_t tries = 1; tries < 6; ++tries) {
    ASSERT_TRUE(api_->WaitForRequest("list", kPorts, tries)) << tries;
    EXPECT_EQ(json::parse(Run("ADD", pod).out)["code"], 11);
  }
}

TEST_F(KuryrPortWatchTest, WithoutTheRightToReadThemPodsWithAnAnnotationAreServed) {
  LetReadOnly({"pods"});
  StartAgent();
  ASSERT_TRUE(api_->WaitForWatches(1));
  AwaitTries(3, "list");
  agent_->WaitForOutput("KuryrPorts cannot be watched", std::chrono::seconds(60));

  EXPECT_EQ(Status().status, 0) << Status().out;
  const TestPod pod = MakePod("nginx");
  Process add(Call("ADD", pod));
  AwaitTries(1, "list");
  Annotate(pod, Vif(pod, true));
  EXPECT_EQ(add.Wait().status, 0);
  const std::string log = EndAgent();
  EXPECT_EQ(Count(log, "KuryrPorts cannot be watched"), 1U) << log;
  EXPECT_THAT(log, HasSubstr("403"));
}

TEST_F(KuryrPortWatchTest, WhereTheyAreInUseTheirWatchCounts) {
  StartAgent();
  ASSERT_TRUE(api_->WaitForWatches(2));
  LetReadOnly({"pods"});
  api_->DropWatches();
  AwaitTries(3, "watch");

  EXPECT_THAT(Status().out, HasSubstr("has not told of KuryrPorts for a while"));

  LetReadOnly({"pods", "kuryrports"});
  ASSERT_TRUE(api_->WaitForWatches(2, std::chrono::seconds(60)));
  EXPECT_EQ(Status().status, 0) << Status().out;
}

}  // namespace
}  // namespace kuryr::test
