#include "base/ownership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace kuryr {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class OwnershipTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove_all(work_); }

  std::string Refusal(const fs::path& folder) {
    try {
      RequireOwnFolder(folder);
    } catch (const std::system_error& e) {
      return e.what();
    }
    return "";
  }

  const fs::path work_ = [] {
    std::string name = fs::temp_directory_path() / "ownership-XXXXXX";
    return fs::path(::mkdtemp(name.data()));
  }();
};

TEST_F(OwnershipTest, OnesOwnFolderIsTrusted) { EXPECT_EQ(Refusal(work_), ""); }

TEST_F(OwnershipTest, AFolderWhereOthersMayWriteIsNot) {
  fs::permissions(work_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_THAT(Refusal(work_), HasSubstr("where others may write"));
  fs::permissions(work_, fs::perms::others_write, fs::perm_options::remove);
  fs::permissions(work_, fs::perms::group_write, fs::perm_options::add);
  EXPECT_THAT(Refusal(work_), HasSubstr("where others may write"));
}

TEST_F(OwnershipTest, AStrangersFolderIsNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::chown(work_.c_str(), 65534, 65534), 0);
  EXPECT_THAT(Refusal(work_), HasSubstr("which belongs to uid 65534"));
}

TEST_F(OwnershipTest, ASymbolicLinkIsNoFolder) {
  fs::create_directory_symlink(work_, work_ / "link");
  EXPECT_THAT(Refusal(work_ / "link"), HasSubstr("open folder"));
}

}  // namespace
}  // namespace kuryr
