// An agent of another version, or something else at its socket.
#include "cni/agent/status_command.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "cni/protocol/agent_call.h"
#include "cni/protocol/agent_socket.h"

namespace kuryr::cni {
namespace {

class StatusAnswerTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { std::filesystem::create_directory(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("status-" + std::to_string(::getpid()));
};

TEST_P(StatusAnswerTest, AnswerWithoutAPartIsAnErrorForTheCommand) {
  const std::string socket = folder_ / "agent.sock";
  const UniqueFd listener = ListenAt(socket);
  const std::jthread agent([&] {
    const UniqueFd client(::accept(listener.get(), nullptr, nullptr));
    const Deadline deadline = Deadline::After(std::chrono::seconds(30));
    (void)ReceiveCall(client.get(), deadline, [](size_t) {});
    SendReply(client.get(), {.status = 0, .out = GetParam()}, deadline);
  });

  EXPECT_THROW((void)PrintStatus(socket, {}), nlohmann::json::exception);
}

INSTANTIATE_TEST_SUITE_P(
    Answers, StatusAnswerTest,
    ::testing::Values("{}", "[]", R"({"pods": {"default/a": {"error": {}}}})",
                      R"({"pods": {"default/a": {"attachments": [{}]}}})",
                      R"({"pods": {"default/a": {"vifs": [{"addresses": [5]}]}}})"));

}  // namespace
}  // namespace kuryr::cni
