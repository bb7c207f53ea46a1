#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "base/unique_fd.h"
#include "tests/cni/plugin/plugin_fixture.h"

namespace kuryr::test {
namespace {

using ::testing::ElementsAre;

class GcTest : public PluginTest {
 protected:
  void SetUp() override {
    PluginTest::SetUp();
    pod_ = MakePod("web");
    Annotate(pod_, Vif(pod_, true));
    const ProcessResult added = Run("ADD", pod_);
    ASSERT_EQ(added.status, 0) << added.out << added.err;
  }
  /// No attachment is valid.
  void CollectAll() {
    const std::string config =
        R"({"cniVersion":"1.1.0","kuryr_conf":")" + (work_ / "kuryr.conf").string() +
        R"(","name":"kuryr","type":"kuryr-cni",)" + R"("cni.dev/valid-attachments":[]})";
    const ProcessResult collected = Run("GC", pod_, {{"stdin", config}});
    EXPECT_EQ(collected.status, 0) << collected.out << collected.err;
  }
  /// As a request has it that is at work on the attachment.
  [[nodiscard]] UniqueFd LockRecord() const {
    const auto record = work_ / "state/attachments" / Records().at(0);
    UniqueFd fd(::open(record.c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_EQ(::flock(fd.get(), LOCK_EX | LOCK_NB), 0);
    return fd;
  }

  TestPod pod_;
};

TEST_F(GcTest, WhatSomebodyIsAtWorkOnIsLeftAlone) {
  {
    const UniqueFd busy = LockRecord();
    CollectAll();
    EXPECT_THAT(Ports(), ElementsAre(pod_.tap));
  }

  CollectAll();

  ExpectNothingLeft();
}

}  // namespace
}  // namespace kuryr::test
