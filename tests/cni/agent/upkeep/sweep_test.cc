#include "cni/agent/upkeep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "cni/attachments/attachment_store.h"
#include "cni/attachments/process.h"
#include "cni/protocol/agent_socket.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SilentWriter : public ApiWriter {
 public:
  void WriteLater(ApiWrite) override {}
};

std::filesystem::path MakeWorkFolder() {
  std::string pattern = ::testing::TempDir() + "sweep-XXXXXX";
  return ::mkdtemp(pattern.data());
}

/// A record whose removal needs OVSDB, which is away, and then takes connections and never answers.
class SweepTest : public ::testing::Test {
 protected:
  ~SweepTest() override { std::filesystem::remove_all(folder_); }

  void SetUp() override {
    auto attachment = attachments_.Create(key_);
    ASSERT_TRUE(attachment);
    attachment->Write(
        {.key = key_,
         .boot_id = BootId(),
         .plugs = {
             {.driver = "ovs", .ifname = "eth0", .host_interface = "tap-none", .bridge = "none"}}});
  }
  /// Until a sweep is at work on the record again.
  void WaitUntilTried() {
    ovsdb_ = ListenAt(folder_ / "db.sock");
    pollfd knock = {.fd = ovsdb_.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&knock, 1, 20'000), 1) << "it is not tried again";
    connection_.reset(::accept4(ovsdb_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  [[nodiscard]] bool IsFree() { return attachments_.TryTake(key_).has_value(); }

  const AttachmentKey key_ = {"kuryr", "c1", "eth0"};
  const std::filesystem::path folder_ = MakeWorkFolder();
  UniqueFd ovsdb_;
  UniqueFd connection_;
  binding::Binding binding_{{.ovsdb_connection = "unix:" + (folder_ / "db.sock").string()}};
  AttachmentStore attachments_{folder_ / "state"};
  SilentWriter writer_;
  const NodeContext node_ = {
      .binding = binding_, .attachments = attachments_, .owner = {}, .writer = writer_};
};

TEST_F(SweepTest, AnAddIsNotInTheWayOfATryNorATryOfAnAdd) {
  Sweep sweep(node_, Deadline::After(20s));
  EXPECT_THAT(sweep.left(), ElementsAre(key_));
  Upkeep upkeep({&sweep});
  WaitUntilTried();
  EXPECT_FALSE(IsFree());

  const Upkeep::Pause add(upkeep, key_);

  EXPECT_TRUE(IsFree());
  EXPECT_THAT(sweep.left(), ElementsAre(key_)) << "the add may fail";
}

TEST_F(SweepTest, EndsWhileItTries) {
  {
    Sweep sweep(node_, Deadline::After(20s));
    const Upkeep upkeep({&sweep});
    WaitUntilTried();
    EXPECT_FALSE(IsFree());
  }

  EXPECT_TRUE(IsFree());
  EXPECT_TRUE(attachments_.Find(key_)) << "the next agent's";
}

TEST_F(SweepTest, WhatSomebodyIsAtWorkOnIsLeftForLaterAndStaysWhereItIsWanted) {
  auto at_work = attachments_.Take(key_);
  Sweep sweep(node_, Deadline::After(20s));
  EXPECT_THAT(sweep.left(), ElementsAre(key_));

  AttachmentRecord added = *at_work->record();
  added.added = true;
  at_work->Write(std::move(added));
  at_work.reset();
  const Sweep next(node_, Deadline::After(20s));

  EXPECT_THAT(next.left(), IsEmpty());
  EXPECT_TRUE(attachments_.Find(key_)->added);
}

}  // namespace
}  // namespace kuryr::cni
