#include "cni/attachments/record_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace kuryr::cni {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RecordIndexTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "kuryr-index-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    index_.emplace(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// As a record is: empty first, then by rename. It has the string, and more.
  void Write(const std::string& name, const std::string& string) {
    (void)std::ofstream(folder_ / name, std::ios::app);
    std::ofstream(folder_ / ("." + name)) << R"({"mac":")" << string << R"(","vlan":3,"a":["b"]})";
    fs::rename(folder_ / ("." + name), folder_ / name);
  }
  std::vector<std::string> Find(const std::vector<std::string>& strings) {
    std::vector<std::string> names;
    for (const fs::path& path : index_->Find(strings)) names.push_back(path.filename());
    return names;
  }
  /// From here on it knows what did not change.
  void LookTwice() {
    (void)Find({});
    (void)Find({});
  }

  fs::path folder_;
  std::optional<RecordIndex> index_;
};

TEST_F(RecordIndexTest, RecordsWithAStringAreFoundAndSuccessorsAreNot) {
  Write("net:a:eth0", "one");
  Write("net:b:eth0", "two");
  std::ofstream(folder_ / ".net:c:eth0") << R"({"mac":"one"})";

  for (int time = 0; time < 3; ++time) {
    EXPECT_THAT(Find({R"("one")"}), ElementsAre("net:a:eth0"));
    EXPECT_THAT(Find({R"("none")", R"("two")"}), ElementsAre("net:b:eth0"));
    EXPECT_THAT(Find({R"("one")", R"("b")"}), ElementsAre("net:a:eth0", "net:b:eth0"));
    EXPECT_THAT(Find({R"("on")", R"("ones")"}), IsEmpty());
  }
}

TEST_F(RecordIndexTest, ReplacedRemovedAndNewOnesAreSeen) {
  Write("net:a:eth0", "one");
  Write("net:b:eth0", "one");
  LookTwice();

  Write("net:a:eth0", "two");
  fs::remove(folder_ / "net:b:eth0");
  Write("net:c:eth0", "two");

  EXPECT_THAT(Find({R"("one")"}), IsEmpty());
  EXPECT_THAT(Find({R"("two")"}), ElementsAre("net:a:eth0", "net:c:eth0"));
}

TEST_F(RecordIndexTest, OneThatCameBackIsSeen) {
  Write("net:a:eth0", "one");
  LookTwice();

  fs::remove(folder_ / "net:a:eth0");
  Write("net:a:eth0", "two");

  EXPECT_THAT(Find({R"("two")"}), ElementsAre("net:a:eth0"));
}

TEST_F(RecordIndexTest, OneThatIsWrittenInItsPlaceIsSeen) {
  Write("net:a:eth0", "one");
  LookTwice();

  std::ofstream(folder_ / "net:a:eth0") << R"({"mac":"by hand"})";

  EXPECT_THAT(Find({R"("by hand")"}), ElementsAre("net:a:eth0"));
}

TEST_F(RecordIndexTest, AStringWithQuotationMarksIsFound) {
  Write("net:a:eth0", R"(a\"strange\\\"one)");
  LookTwice();

  EXPECT_THAT(Find({R"("a\"strange\\\"one")"}), ElementsAre("net:a:eth0"));
}

TEST_F(RecordIndexTest, OneWithManyStringsMayHaveAnyOfThem) {
  std::string strings = "0";
  for (int i = 1; i < 5000; ++i) strings += R"(",")" + std::to_string(i);
  Write("net:a:eth0", strings);
  LookTwice();

  EXPECT_THAT(Find({R"("4321")"}), ElementsAre("net:a:eth0"));
}

TEST_F(RecordIndexTest, WhoCouldNotReadOneReadsAllTheNextTime) {
  LookTwice();
  Write("net:b:eth0", "one");
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_THROW((void)Find({}), std::system_error);

  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);

  EXPECT_THAT(Find({R"("one")"}), ElementsAre("net:b:eth0"));
}

TEST_F(RecordIndexTest, AFolderThatIsGoneIsAnErrorAndANewOneIsSeen) {
  Write("net:a:eth0", "one");
  LookTwice();

  fs::remove_all(folder_);
  EXPECT_THROW((void)Find({}), std::system_error);
  fs::create_directory(folder_);

  EXPECT_THAT(Find({R"("one")"}), IsEmpty());
}

}  // namespace
}  // namespace kuryr::cni
