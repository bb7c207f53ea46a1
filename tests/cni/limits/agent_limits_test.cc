#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"
#include "cni/protocol/agent_call.h"
#include "cni/protocol/agent_socket.h"
#include "tests/cni/agent/agent_fixture.h"
#include "tests/cni/limits/sanitizer.h"

// kuryr-daemon with too few descriptors, and with too much to do.

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Not;

/// Standard input, output and error, and the first ones that the agent opens.
constexpr rlim_t kKeptDescriptors = 6;

class AgentLimitsTest : public AgentTest {
 protected:
  void SetUp() override { PluginTest::SetUp(); }
  void StartWith(const std::string& options) {
    WriteConfig(DefaultKubernetes(), "[cni_daemon]\nagent_wait = 1\n" + options);
    StartAgent();
    ASSERT_TRUE(api_->WaitForWatches(kAgentWatches));
  }

  /// The agent can open so many descriptors more.
  void LeaveDescriptors(unsigned count) const {
    std::set<rlim_t> taken;
    const std::string folder = "/proc/" + std::to_string(agent_->id()) + "/fd";
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      taken.insert(std::stoul(entry.path().filename()));
    rlim_t limit = 0;
    for (unsigned free = 0; free < count || taken.contains(limit); ++limit)
      free += taken.contains(limit) ? 0 : 1;
    SetLimit(limit);
  }
  /// The agent can open none, whichever of its present ones it closes: it keeps the lowest ones.
  void LeaveNoDescriptors() const { SetLimit(kKeptDescriptors); }
  void LeaveAllDescriptors() const {
    rlimit own{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &own), 0);
    SetLimit(own.rlim_cur);
  }
  void SetLimit(rlim_t soft) const {
    rlimit limit{};
    ASSERT_EQ(::prlimit(agent_->id(), RLIMIT_NOFILE, nullptr, &limit), 0);
    limit.rlim_cur = soft;
    ASSERT_EQ(::prlimit(agent_->id(), RLIMIT_NOFILE, &limit, nullptr), 0);
  }

  /// As the plugin hands it over, with `more` bytes that nobody knows.
  [[nodiscard]] UniqueFd Send(const TestPod& pod, const std::string& command, size_t more) const {
    const std::map<std::string, std::string> env = Call(command, pod).env.value();
    const json input = {{"cniVersion", "1.0.0"},
                        {"name", "kuryr"},
                        {"type", "kuryr-cni"},
                        {"more", std::string(more, 'x')}};
    UniqueFd socket = cni::ConnectTo(agent_socket(), Soon());
    cni::AgentCall call{.environment = {.command = command,
                                        .container_id = env.at("CNI_CONTAINERID"),
                                        .netns = pod.netns,
                                        .ifname = "eth0",
                                        .args = env.at("CNI_ARGS"),
                                        .path = "/opt/cni/bin",
                                        .netns_override = {}},
                        .input = input.dump()};
    call.netns.reset(::open(pod.netns.c_str(), O_RDONLY | O_CLOEXEC));
    cni::SendCall(socket.get(), call, Soon());
    return socket;
  }
  static Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }
};

TEST_F(AgentLimitsTest, WithAnyNumberOfDescriptorsACallIsAnsweredAndNothingIsLeft) {
  SKIP_WHERE_CHECKS_OPEN_DESCRIPTORS();
  // An ADD that cannot open a file tries again until this timeout.
  StartWith("vif_annotation_timeout = 2\n");
  const TestPod pod = ActivePod("nginx");
  bool succeeded = false;
  for (unsigned count = 0; !succeeded; ++count) {
    ASSERT_LT(count, 40U) << "no ADD has succeeded";
    LeaveDescriptors(count);

    const ProcessResult add = Run("ADD", pod);

    LeaveAllDescriptors();
    succeeded = add.status == 0;
    EXPECT_THAT(add.out, Not(HasSubstr("CNI_NETNS"))) << count;
    if (!succeeded) {
      const json error = json::parse(add.out, nullptr, false);
      ASSERT_TRUE(error.is_object()) << count << ": " << add.out << add.err;
      EXPECT_THAT(error.at("code").get<int>(), AnyOf(Eq(5), Eq(11))) << count << ": " << add.out;
    }
    EXPECT_EQ(Run("DEL", pod).status, 0) << count;
    ExpectNothingLeft();
  }
}

TEST_F(AgentLimitsTest, WithoutADescriptorForACallItIsTakenLaterAndTheAgentRestsMeanwhile) {
  SKIP_WHERE_CHECKS_OPEN_DESCRIPTORS();
  StartWith("");
  const TestPod pod = ActivePod("nginx");
  LeaveNoDescriptors();
  Process add(Call("ADD", pod));
  agent_->WaitForOutput("a call could not be taken", std::chrono::seconds(30));

  LeaveAllDescriptors();

  EXPECT_EQ(add.Wait().status, 0);
  EXPECT_EQ(Run("DEL", pod).status, 0);
  const std::string log = EndAgent();
  size_t tries = 0;
  for (size_t at = log.find("could not be taken"); at != std::string::npos;
       at = log.find("could not be taken", at + 1))
    ++tries;
  EXPECT_LT(tries, 40U) << "one a second";
}

TEST_F(AgentLimitsTest, LargeRequestsAreRefusedWhereTooManyAreAtWork) {
  constexpr size_t kLarge = 300'000;
  StartWith("");
  const TestPod waiting = MakePod("waiting");
  Annotate(waiting, Vif(waiting, false));
  const TestPod pod = ActivePod("nginx");
  const UniqueFd first = Send(waiting, "ADD", kLarge);
  WaitUntilPlugged(waiting);
  const UniqueFd second = Send(pod, "ADD", kLarge);

  const cni::AgentReply reply = cni::ReceiveReply(second.get(), Soon());

  const json error = json::parse(reply.out);
  EXPECT_EQ(error.at("code"), 11);
  EXPECT_THAT(reply.out, AllOf(HasSubstr("too many large requests"), HasSubstr("524288")));
  EXPECT_EQ(Run("ADD", pod).status, 0) << "a usual one is served";
  const UniqueFd too_large = Send(pod, "DEL", 2 * kLarge);
  EXPECT_EQ(json::parse(cni::ReceiveReply(too_large.get(), Soon()).out).at("code"), 7);
  Annotate(waiting, Vif(waiting, true));
  EXPECT_EQ(cni::ReceiveReply(first.get(), Soon()).status, 0);
  const UniqueFd third = Send(pod, "DEL", kLarge);
  EXPECT_EQ(cni::ReceiveReply(third.get(), Soon()).status, 0) << "the first one's room is free";
}

}  // namespace
}  // namespace kuryr::test
