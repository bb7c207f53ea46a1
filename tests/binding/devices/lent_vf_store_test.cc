#include "binding/devices/lent_vf_store.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"

namespace kuryr::binding {
namespace {

vif::PciAddress AddressOf(const char* text) { return vif::PciAddress::Parse(text).value(); }

LentVf SomeVf() {
  return {.address = AddressOf("0000:03:10.1"),
          .owner = {.network = "kuryr", .container_id = "c1", .ifname = "eth0"},
          .link = "ens1,v1",
          .index = 7,
          .mac = MacAddress::Parse("02:00:00:00:00:01").value(),
          .mtu = 9000,
          .settings = VfSettings{.mac = MacAddress::Parse("02:00:00:00:00:02"), .vlan = 205}};
}

class LentVfStoreTest : public ::testing::Test {
 protected:
  ~LentVfStoreTest() override { std::filesystem::remove_all(work_); }

  static std::filesystem::path MakeFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "lent-vf-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category());
    return name;
  }
  [[nodiscard]] std::filesystem::path FileOf(const LentVf& lent) const {
    return folder_ / lent.address.ToString();
  }

  const std::filesystem::path work_ = MakeFolder();
  const std::filesystem::path folder_ = work_ / "state/vfs";
  const LentVfStore store_{folder_};
};

TEST_F(LentVfStoreTest, FolderIsRootsAlone) {
  struct stat status = {};
  ASSERT_EQ(::stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
}

TEST_F(LentVfStoreTest, FolderOfAStrangerIsRefused) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_THROW(LentVfStore{folder_}, std::system_error);
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::chown(folder_.c_str(), 1, 1), 0);
  EXPECT_THROW(LentVfStore{folder_}, std::system_error);
}

TEST_F(LentVfStoreTest, KeepsAllOfAVfUntilItIsRemoved) {
  for (const bool has_settings : {true, false}) {
    LentVf lent = SomeVf();
    if (!has_settings) lent.settings.reset();
    EXPECT_FALSE(store_.Find(lent.address));

    store_.Write(lent);
    const auto read = LentVfStore(folder_).Find(lent.address);

    ASSERT_TRUE(read);
    EXPECT_EQ(read->ToJson(), lent.ToJson());
    EXPECT_EQ(read->owner.container_id, "c1");
    EXPECT_EQ(read->settings, lent.settings);
    EXPECT_FALSE(store_.Find(AddressOf("0000:03:10.2")));
    store_.Remove(lent.address);
  }
}

TEST_F(LentVfStoreTest, UnreadableFileIsNone) {
  const LentVf lent = SomeVf();
  const std::string good = lent.ToJson();
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), good.substr(0, good.size() / 2)}) {
    std::ofstream(FileOf(lent)) << text;
    EXPECT_FALSE(store_.Find(lent.address)) << text;
  }
  for (const auto& [part, other] : {std::pair("ens1,v1", "../x"), std::pair("0000:03", "03"),
                                    std::pair("00:01", "00"), std::pair("205", "\"205\"")}) {
    std::string text = good;
    text.replace(text.find(part), std::string(part).size(), other);
    EXPECT_THROW((void)LentVf::Parse(text), ParseError) << text;
  }
}

TEST_F(LentVfStoreTest, OfOneVfThereIsOneLockAndOfAnotherAnother) {
  const UniqueFd other = store_.Lock(AddressOf("0000:03:10.2"));
  const UniqueFd domain = store_.Lock(AddressOf("0001:03:10.1"));
  std::atomic<bool> is_held = false;
  std::vector<std::jthread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        const UniqueFd same = LentVfStore(folder_).Lock(AddressOf("0000:03:10.1"));
        EXPECT_FALSE(is_held.exchange(true));
        std::this_thread::yield();
        is_held = false;
      }
    });
  }
}

}  // namespace
}  // namespace kuryr::binding
