#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "binding/netns.h"

namespace kuryr::test {

/// Each test runs, as root, in a "host" of its own: a new network namespace with lo up, and a
/// private mount namespace whose /run is empty and in memory. Both end with the process, even after
/// SIGKILL. Threads and children that the test starts live there as well.
class NetnsTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  static constexpr const char* kNoVlans = "the kernel has no 802.1Q (module 8021q)";

  /// Makes a pod's namespace as a runtime does: a bind mount, "/run/netns/cni-N", with lo down. May
  /// be called from any thread.
  std::string MakePodNetnsPath();
  static void RemovePodNetns(const std::string& path);
  binding::Netns MakePodNetns();
  /// Runs a program in `netns` and returns its stdout. The test fails when the exit status is not
  /// 0.
  static std::string RunIn(const binding::Netns& netns, const std::vector<std::string>& argv);
  static std::string RunOnHost(const std::vector<std::string>& argv);
  /// Whether the kernel has 802.1Q (module 8021q), tried on link `parent`.
  static bool CanMakeVlans(const std::string& parent);

 private:
  std::optional<binding::Netns> outside_;
  std::atomic<int> pods_ = 0;
};

}  // namespace kuryr::test
