#include "binding/devices/pod_folder.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace kuryr::binding {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kFile = "c1-eth0";
constexpr const char* kSuccessor = ".c1-eth0.new";

class PodFolderTest : public ::testing::Test {
 protected:
  ~PodFolderTest() override { fs::remove_all(path_); }

  static fs::path MakeFolder() {
    std::string name = (fs::temp_directory_path() / "pod-folder-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category());
    return name;
  }
  [[nodiscard]] std::string WriteFailure() const {
    try {
      folder_.Write(kFile, "text");
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), std::errc::is_a_directory);
      return e.what();
    }
    return "";
  }

  const fs::path path_ = MakeFolder();
  const PodFolder folder_{path_, "[vhostuser] mount_point"};
};

TEST_F(PodFolderTest, EmptyDirectoriesInTheFilesPlaceAreRemoved) {
  for (const char* name : {kFile, kSuccessor}) fs::create_directory(path_ / name);

  folder_.Remove(kFile);

  EXPECT_TRUE(fs::is_empty(path_));
}

TEST_F(PodFolderTest, FullDirectoriesInTheFilesPlaceStayAndAreNoFailure) {
  for (const char* name : {kFile, kSuccessor}) fs::create_directories(path_ / name / "full");

  EXPECT_NO_THROW(folder_.Remove(kFile));

  for (const char* name : {kFile, kSuccessor}) EXPECT_TRUE(fs::exists(path_ / name / "full"));
}

TEST_F(PodFolderTest, FullDirectoryDoesNotKeepTheFileBesideIt) {
  folder_.Write(kFile, "text");
  fs::create_directories(path_ / kSuccessor / "full");

  folder_.Remove(kFile);

  EXPECT_FALSE(fs::exists(path_ / kFile));
}

TEST_F(PodFolderTest, WriteNamesTheDirectoryThatIsInItsWayAndLeavesNothing) {
  fs::create_directories(path_ / kSuccessor / "full");
  EXPECT_THAT(WriteFailure(), HasSubstr("create " + (path_ / kSuccessor).string()));
  EXPECT_FALSE(fs::exists(path_ / kFile));
  fs::remove_all(path_ / kSuccessor);

  fs::create_directory(path_ / kFile);
  EXPECT_THAT(WriteFailure(), HasSubstr("to c1-eth0"));
  EXPECT_FALSE(fs::exists(path_ / kSuccessor));
}

TEST_F(PodFolderTest, TakenSocketReplacesNothing) {
  const fs::path other = MakeFolder();
  std::ofstream(other / "vhu1") << "socket";
  std::ofstream(path_ / "vhu1") << "laid by a pod";

  EXPECT_THROW(folder_.TakeSocket(PodFolder(other, ""), "vhu1"), std::system_error);

  EXPECT_EQ(folder_.Read("vhu1"), "laid by a pod");
  EXPECT_TRUE(fs::exists(other / "vhu1"));
  fs::remove_all(other);
}

TEST_F(PodFolderTest, WriteReplacesWhatAPodLaidOutForItsSuccessor) {
  fs::create_directory(path_ / kSuccessor);

  folder_.Write(kFile, "text");

  EXPECT_EQ(folder_.Read(kFile), "text");
  EXPECT_FALSE(fs::exists(path_ / kSuccessor));
}

}  // namespace
}  // namespace kuryr::binding
