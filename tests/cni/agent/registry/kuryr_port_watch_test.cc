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

constexpr const char* kPorts = "/apis/openstack.org/v1/namespaces/default/kuryrports";

/// What is a failure to read them, and what is none.
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
  /// `count` more tries of the agent. Four take a second: what counts as a failure has lasted by
  /// then.
  void AwaitTries(size_t count, const std::string& verb) {
    ASSERT_TRUE(api_->WaitForRequest(verb, kPorts, static_cast<size_t>(Tries(verb)) + count,
                                     std::chrono::seconds(60)));
  }
  [[nodiscard]] long Tries(const std::string& verb) const {
    const auto requests = api_->Requests();
    return std::count_if(requests.begin(), requests.end(), [&](const auto& request) {
      return request.verb == verb && request.path == kPorts;
    });
  }
};

TEST_F(KuryrPortWatchTest, WithoutTheirDefinitionNothingIsMissingUntilItComes) {
  HideKuryrPorts();
  StartAgent();
  ASSERT_TRUE(api_->WaitForWatches(1));
  EXPECT_EQ(Run("ADD", ActivePod("annotated")).status, 0);
  EXPECT_EQ(Tries("list"), 0);

  const TestPod pod = MakePod("nginx");
  Process add(Call("ADD", pod));
  ASSERT_TRUE(api_->WaitForRequest("list", kPorts));
  EXPECT_EQ(Status().status, 0) << Status().out;
  api_->ClearFaults();
  api_->Create(PortOf(pod, Vifs(Vif(pod, true))));
  EXPECT_EQ(add.Wait().status, 0);

  HideKuryrPorts();
  Process late(Call("ADD", MakePod("late")));
  AwaitTries(1, "list");
  EXPECT_EQ(Status().status, 0) << Status().out;
  const std::string log = EndAgent();
  EXPECT_EQ(Count(log, "the API server has no KuryrPorts"), 2U) << log;
  EXPECT_EQ(Count(log, "the API server has KuryrPorts now"), 1U) << log;
  EXPECT_EQ(Count(log, "level=error"), 0U) << log;
}

TEST_F(KuryrPortWatchTest, WithoutTheRightToReadThemPodsWithAnAnnotationAreServed) {
  LetReadOnly({"pods"});
  StartAgent();
  ASSERT_TRUE(api_->WaitForWatches(1));
  const TestPod pod = MakePod("nginx");
  Process add(Call("ADD", pod));
  AwaitTries(3, "list");
  agent_->WaitForOutput("KuryrPorts cannot be read", std::chrono::seconds(60));

  EXPECT_EQ(Status().status, 0) << Status().out;
  Annotate(pod, Vif(pod, true));
  EXPECT_EQ(add.Wait().status, 0);
  const std::string log = EndAgent();
  EXPECT_EQ(Count(log, "KuryrPorts cannot be read"), 1U) << log;
  EXPECT_THAT(log, HasSubstr("403"));
}

TEST_F(KuryrPortWatchTest, WhereTheyAreInUseThatTheyCannotBeReadCounts) {
  StartAgent();
  const TestPod first = MakePod("first");
  api_->Create(PortOf(first, Vifs(Vif(first, true))));
  ASSERT_EQ(Run("ADD", first).status, 0);
  LetReadOnly({"pods"});
  const TestPod pod = MakePod("nginx");
  Process add(Call("ADD", pod));
  AwaitTries(4, "list");

  EXPECT_THAT(Status().out, HasSubstr("has not told of KuryrPorts for a while"));

  LetReadOnly({"pods", "kuryrports"});
  api_->Create(PortOf(pod, Vifs(Vif(pod, true))));
  EXPECT_EQ(add.Wait().status, 0);
  EXPECT_EQ(Status().status, 0) << Status().out;
}

}  // namespace
}  // namespace kuryr::test
