#include "certificates/file_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/temporary_folder.h"

namespace kuryr::certificates {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class FileSetTest : public ::testing::Test {
 protected:
  const test::TemporaryFolder folder_;
  const std::filesystem::path place_ = folder_.path() / "ovn";
  const FileSet files_{place_};
};

TEST_F(FileSetTest, ThereAreNoneBeforeTheFirstWrite) { EXPECT_THAT(files_.Read(), IsEmpty()); }

TEST_F(FileSetTest, AllFilesAreReplaced) {
  files_.Write({{"tls.crt", "one"}, {"tls.key", "its key"}});
  files_.Write({{"tls.crt", "two"}});

  EXPECT_THAT(files_.Read(), ElementsAre(Pair("tls.crt", "two")));
  EXPECT_FALSE(std::filesystem::exists(files_.PathOf("tls.key")));
  const std::filesystem::directory_iterator left(place_);
  EXPECT_EQ(std::distance(begin(left), end(left)), 2) << "the link and its subfolder";
}

TEST_F(FileSetTest, NobodyElseMayReadAKey) {
  files_.Write({{"tls.key", "secret"}});

  struct stat file{};
  struct stat folder{};
  ASSERT_EQ(::stat(files_.PathOf("tls.key").c_str(), &file), 0);
  ASSERT_EQ(::stat(place_.c_str(), &folder), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
  EXPECT_EQ(folder.st_mode & 0777, 0700U);
}

TEST_F(FileSetTest, WriteThatWasCutOffIsNoHindrance) {
  files_.Write({{"tls.crt", "one"}});
  std::filesystem::create_directory(place_ / "b");
  std::ofstream(place_ / "b" / "tls.crt") << "half";
  std::filesystem::create_symlink("b", place_ / "next");

  files_.Write({{"tls.crt", "two"}});

  EXPECT_THAT(files_.Read(), ElementsAre(Pair("tls.crt", "two")));
}

}  // namespace
}  // namespace kuryr::certificates
