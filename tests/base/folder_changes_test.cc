#include "base/folder_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace kuryr {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

class FolderChangesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "kuryr-changes-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directory(folder_ = root_ / "folder");
    changes_.emplace(folder_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& name) const { std::ofstream(folder_ / name) << "text"; }
  /// Starts the watch.
  void Begin() {
    ASSERT_EQ(changes_->Take(), std::nullopt);
    ASSERT_EQ(changes_->Take(), std::nullopt);
  }

  fs::path root_;
  fs::path folder_;
  std::optional<FolderChanges> changes_;
};

TEST_F(FolderChangesTest, WhatHappenedBeforeTheFirstTimesMayBeAnything) {
  EXPECT_EQ(changes_->Take(), std::nullopt);
  EXPECT_EQ(changes_->Take(), std::nullopt);
  EXPECT_THAT(changes_->Take(), Optional(IsEmpty()));
}

TEST_F(FolderChangesTest, WrittenRenamedAndRemovedFilesAreNamedOnce) {
  Write("old");
  Write("other");
  Begin();

  Write("new");
  fs::rename(folder_ / "old", folder_ / "renamed");
  fs::remove(folder_ / "other");
  fs::create_directory(folder_ / "sub");

  EXPECT_THAT(changes_->Take(), Optional(ElementsAre("new", "old", "other", "renamed", "sub")));
  EXPECT_THAT(changes_->Take(), Optional(IsEmpty()));
}

TEST_F(FolderChangesTest, ChangesFillMoreThanOneRead) {
  Begin();

  for (int i = 0; i < 300; ++i) Write(std::string(200, 'n') + std::to_string(i));

  const auto names = changes_->Take();
  ASSERT_TRUE(names);
  EXPECT_EQ(names->size(), 300);
}

TEST_F(FolderChangesTest, AnotherFolderOfThatNameMayHaveAnything) {
  Begin();

  fs::rename(folder_, root_ / "away");
  EXPECT_EQ(changes_->Take(), std::nullopt);
  fs::create_directory(folder_);
  Write("new");
  EXPECT_EQ(changes_->Take(), std::nullopt);
  Write("next");
  EXPECT_THAT(changes_->Take(), Optional(ElementsAre("next")));
}

TEST_F(FolderChangesTest, RemovedAndMadeAnewMayHaveAnything) {
  Begin();

  fs::remove_all(folder_);
  fs::create_directory(folder_);

  EXPECT_EQ(changes_->Take(), std::nullopt);
  Write("next");
  EXPECT_THAT(changes_->Take(), Optional(ElementsAre("next")));
}

TEST_F(FolderChangesTest, WhatWasForgottenMayBeAnything) {
  Begin();

  changes_->Forget();

  EXPECT_EQ(changes_->Take(), std::nullopt);
  EXPECT_THAT(changes_->Take(), Optional(IsEmpty()));
}

TEST_F(FolderChangesTest, MoreThanTheKernelTellsOfMayBeAnything) {
  size_t most = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> most;
  if (most == 0 || most > 100'000) GTEST_SKIP() << "the kernel keeps " << most << " notices";
  Begin();

  for (size_t i = 0; i <= most / 2; ++i) {
    Write("a");  // made or written, then removed: two notices at least
    fs::remove(folder_ / "a");
  }

  EXPECT_EQ(changes_->Take(), std::nullopt);
  Write("next");
  EXPECT_THAT(changes_->Take(), Optional(ElementsAre("next")));
}

}  // namespace
}  // namespace kuryr
