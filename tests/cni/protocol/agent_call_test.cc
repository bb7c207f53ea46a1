#include "cni/protocol/agent_call.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "cni/protocol/trace_id.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

class AgentCallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int both[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
    plugin_.reset(both[0]);
    agent_.reset(both[1]);
  }
  /// As any version of the plugin may write it.
  void Send(const json& object) const {
    const std::string body = object.dump();
    const uint32_t length = htonl(static_cast<uint32_t>(body.size()));
    std::string message(sizeof length, '\0');
    std::memcpy(message.data(), &length, sizeof length);
    message += body;
    ASSERT_EQ(::write(plugin_.get(), message.data(), message.size()),
              static_cast<ssize_t>(message.size()));
  }
  [[nodiscard]] AgentCall Receive() const {
    return ReceiveCall(agent_.get(), Soon(), [](size_t) {});
  }
  static Deadline Soon() { return Deadline::After(10s); }

  UniqueFd plugin_;
  UniqueFd agent_;
};

TEST_F(AgentCallTest, TellsTheTraceIdOfTheCall) {
  AgentCall call;
  call.environment.command = "ADD";
  call.input = "{}";
  call.trace_id = NewTraceId();
  SendCall(plugin_.get(), call, Soon());

  const AgentCall received = Receive();

  EXPECT_EQ(received.trace_id, call.trace_id);
  EXPECT_EQ(received.environment.command, "ADD");
  EXPECT_EQ(received.input, "{}");
}

TEST_F(AgentCallTest, ACallOfAnOlderPluginGetsATraceId) {
  Send({{"stdin", "{}"}, {"CNI_COMMAND", "DEL"}, {"CNI_IFNAME", "eth0"}});

  const AgentCall received = Receive();

  EXPECT_EQ(received.environment.command, "DEL");
  EXPECT_EQ(received.environment.ifname, "eth0");
  EXPECT_TRUE(IsTraceId(received.trace_id)) << received.trace_id;
}

TEST_F(AgentCallTest, WhatALaterPluginTellsBesidesIsPassedOver) {
  const std::string id = NewTraceId();
  Send({{"stdin", "{}"}, {"CNI_COMMAND", "DEL"}, {"trace_id", id}, {"later", {{"a", 1}}}});

  const AgentCall received = Receive();

  EXPECT_EQ(received.environment.command, "DEL");
  EXPECT_EQ(received.trace_id, id);
}

TEST_F(AgentCallTest, ARequestThatIsNotAdmittedIsReadToItsEnd) {
  // More than a socket keeps.
  AgentCall call;
  call.input = std::string(1'000'000, 'x');
  size_t asked = 0;
  const auto refuse = [&](size_t bytes) {
    asked = bytes;
    throw std::runtime_error("no");
  };
  bool is_sent = false;
  std::thread sender([&] {
    try {
      SendCall(plugin_.get(), call, Soon());
      is_sent = true;
    } catch (const std::system_error&) {
    }
  });

  EXPECT_THROW((void)ReceiveCall(agent_.get(), Soon(), refuse), std::runtime_error);

  agent_.reset();
  sender.join();
  EXPECT_TRUE(is_sent);
  EXPECT_GT(asked, call.input.size());
}

TEST_F(AgentCallTest, WhatIsNoTraceIdIsReplaced) {
  for (const json& bad : {json(1), json("x"), json(std::string(32, '0')), json({{"a", "b"}}),
                          json(NewTraceId() + "\nlevel=error")}) {
    Send({{"stdin", "{}"}, {"trace_id", bad}});

    EXPECT_TRUE(IsTraceId(Receive().trace_id)) << bad;
  }
}

}  // namespace
}  // namespace kuryr::cni
