#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "base/deadline.h"
#include "base/event_fd.h"
#include "kubelet/server.h"
#include "kubelet/unary_call.h"

namespace kuryr::kubelet {

/// A server in a loop of its own, as in a program. `on_wake` is called there.
class RunningServer {
 public:
  RunningServer(
      const std::string& socket, Methods methods, const ServerLimits& limits = {},
      std::function<void()> on_wake = [] {})
      : server_(socket, std::move(methods), limits),
        on_wake_(std::move(on_wake)),
        thread_([this] { Loop(); }) {}
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;
  ~RunningServer() {
    stop_.Set();
    thread_.join();
  }

  void Wake() const { ::eventfd_write(wake_.fd(), 1); }

 private:
  void Loop() {
    while (true) {
      std::array<pollfd, 3> fds = {{{.fd = server_.fd(), .events = POLLIN, .revents = 0},
                                    {.fd = wake_.fd(), .events = POLLIN, .revents = 0},
                                    {.fd = stop_.fd(), .events = POLLIN, .revents = 0}}};
      ::poll(fds.data(), fds.size(), -1);
      if (fds[2].revents != 0) return;
      if (fds[0].revents != 0) server_.Advance();
      eventfd_t times = 0;
      if (::eventfd_read(wake_.fd(), &times) == 0) on_wake_();
    }
  }

  Server server_;
  std::function<void()> on_wake_;
  EventFd wake_;
  EventFd stop_;
  std::thread thread_;
};

/// A test with a folder for sockets.
class KubeletTest : public ::testing::Test {
 protected:
  KubeletTest() {
    std::string name = (std::filesystem::temp_directory_path() / "kubelet-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  ~KubeletTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string socket() const { return folder_ / "peer.sock"; }
  static Deadline Soon() { return Deadline::After(std::chrono::seconds(20)); }
  [[nodiscard]] CallRequest Request(const std::string& method, std::string message = "") const {
    return {.socket = socket(), .method = method, .message = std::move(message)};
  }
  /// The answer, or "CODE: MESSAGE".
  static std::string Outcome(const CallRequest& request, const Deadline& deadline = Soon()) {
    try {
      return Call(request, deadline);
    } catch (const CallError& e) {
      return e.what();
    }
  }

  std::filesystem::path folder_;
};

}  // namespace kuryr::kubelet
