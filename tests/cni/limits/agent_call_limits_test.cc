#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "cni/protocol/agent_call.h"
#include "tests/cni/limits/sanitizer.h"

namespace kuryr::cni {
namespace {

Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }

TEST(AgentCallLimitsTest, ANamespaceThatFindsNoDescriptorIsSaidToBeLost) {
  SKIP_WHERE_CHECKS_OPEN_DESCRIPTORS();
  int both[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
  const UniqueFd plugin(both[0]);
  const UniqueFd agent(both[1]);
  AgentCall call;
  call.input = "{}";
  call.netns.reset(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  SendCall(plugin.get(), call, Soon());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none_left = before;
  none_left.rlim_cur = static_cast<rlim_t>(UniqueFd(::dup(plugin.get())).get());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);

  const AgentCall received = ReceiveCall(agent.get(), Soon(), [](size_t) {});

  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(received.netns_lost);
  EXPECT_FALSE(received.netns);
  EXPECT_EQ(received.input, "{}");
}

}  // namespace
}  // namespace kuryr::cni
