#include "cni/attachments/attachment_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"

namespace kuryr::cni {
namespace {

namespace fs = std::filesystem;

class AttachmentStoreTest : public ::testing::Test {
 protected:
  AttachmentStoreTest() {
    std::string pattern = ::testing::TempDir() + "kuryr-store-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~AttachmentStoreTest() override { fs::remove_all(dir_); }

  [[nodiscard]] size_t Files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(dir_ / "attachments"), fs::directory_iterator()));
  }

  const AttachmentKey key_ = {"kuryr", "c7350ee3", "eth0"};
  fs::path dir_;
};

AttachmentRecord Record(const AttachmentKey& key) {
  return {.key = key,
          .added = false,
          .netns = "/var/run/netns/cni-1",
          .netns_id = {4, 4026532222},
          .pod = "default/a1",
          .pod_uid = "b57463f9",
          .boot_id = BootId(),
          .owner = ProcessId::Own(),
          .trace_id = "4bf92f3577b34da6a3ce929d0e0e4736",
          .plugs = {{"ovs", "eth0", "tap2faf4e00-fc", "br-int"}, {"ovs", "net1", "tap3", "br-ex"}},
          .limits = {.received = {.rate = 1000, .burst = 2000}, .sent = {.rate = 3000}}};
}

TEST(AttachmentRecordTest, AnEarlierRecordHasNoLimits) {
  auto record = nlohmann::json::parse(ToJson(Record({"kuryr", "c7350ee3", "eth0"})));
  record.erase("received_limit");
  record.erase("sent_limit");

  EXPECT_FALSE(ParseAttachmentRecord(record.dump()).limits.IsAny());
}

TEST_F(AttachmentStoreTest, ARecordIsReadAsItWasWritten) {
  AttachmentStore store(dir_);
  {
    store.Create(key_)->Write(Record(key_));
  }

  const auto taken = store.Take(key_);

  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->record(), Record(key_));
}

TEST_F(AttachmentStoreTest, RemoveLeavesNothing) {
  AttachmentStore store(dir_);
  auto locked = store.Create(key_);
  locked->Write(Record(key_));

  locked->Remove();

  EXPECT_EQ(Files(), 0U);
  EXPECT_FALSE(store.Take(key_));
}

TEST_F(AttachmentStoreTest, OnlyRootMayLookInside) {
  AttachmentStore store(dir_ / "new");
  auto locked = store.Create(key_);

  for (const auto& entry : fs::recursive_directory_iterator(dir_ / "new")) {
    EXPECT_EQ(entry.status().permissions() & (fs::perms::group_all | fs::perms::others_all),
              fs::perms::none);
  }
}

TEST_F(AttachmentStoreTest, ASecondAddOfTheSameAttachmentIsToldSo) {
  AttachmentStore store(dir_);
  const auto first = store.Create(key_);

  EXPECT_FALSE(store.Create(key_));
  EXPECT_TRUE(store.Create({"kuryr", "c7350ee3", "net1"}));
}

TEST_F(AttachmentStoreTest, AnEmptyOrBrokenRecordIsNone) {
  AttachmentStore store(dir_);
  {
    const auto empty = store.Create(key_);
  }
  EXPECT_FALSE(store.Take(key_)->record());

  std::ofstream(dir_ / "attachments" / "kuryr:c7350ee3:eth0") << "{\"network\":";

  EXPECT_FALSE(store.Take(key_)->record());
}

TEST_F(AttachmentStoreTest, NothingElseThanAFileIsARecordAndNobodyWaitsForIt) {
  AttachmentStore store(dir_);
  const fs::path path = dir_ / "attachments" / "kuryr:c7350ee3:eth0";
  const AttachmentKey other = {"kuryr", "other", "eth0"};
  const std::vector<std::function<void()>> makers = {
      [&] { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); },
      [&] { fs::create_symlink("/dev/zero", path); },
      [&] { fs::create_directory(path); },
  };
  for (const auto& make : makers) {
    make();
    EXPECT_FALSE(store.Find(key_));
    EXPECT_FALSE(store.IsInUse(key_));
    EXPECT_THAT(store.FindOthersMentioning({"tap3"}, other), ::testing::IsEmpty());
    EXPECT_FALSE(store.Take(key_));
    EXPECT_FALSE(fs::exists(fs::symlink_status(path))) << "its DEL is over";

    make();
    store.Create(key_)->Write(Record(key_));
    EXPECT_TRUE(store.Find(key_));
    store.Take(key_)->Remove();
  }
}

TEST_F(AttachmentStoreTest, APipeInItsSuccessorsPlaceKeepsNoRecordFromBeingWritten) {
  AttachmentStore store(dir_);
  ASSERT_EQ(::mkfifo((dir_ / "attachments" / ".kuryr:c7350ee3:eth0").c_str(), 0600), 0);

  store.Create(key_)->Write(Record(key_));

  EXPECT_TRUE(store.Find(key_));
}

TEST(AttachmentRecordTest, ANumberThatDoesNotFitIsNone) {
  const std::string text = ToJson(Record({"kuryr", "c7350ee3", "eth0"}));
  ASSERT_NO_THROW((void)ParseAttachmentRecord(text));
  for (const char* key : {"netns_device", "netns_inode", "owner_pid", "owner_start_time"}) {
    for (const char* number : {"-1", "1.5", "18446744073709551616", "\"7\""}) {
      auto record = nlohmann::json::parse(text);
      record[key] = nlohmann::json::parse(number);
      EXPECT_THROW((void)ParseAttachmentRecord(record.dump()), ParseError) << key << " " << number;
    }
  }
}

TEST_F(AttachmentStoreTest, ATakerWaitsForTheHolderAndFindsWhatItWrote) {
  AttachmentStore store(dir_);
  AttachmentRecord record = Record(key_);
  record.added = true;
  auto holder = store.Create(key_);
  holder->Write(record);
  std::latch waiting(1);
  std::thread taker([&] {
    waiting.count_down();
    const auto taken = store.Take(key_);
    ASSERT_TRUE(taken);
    EXPECT_TRUE(taken->record()->plugs.empty());
  });

  waiting.wait();
  record.plugs.clear();
  holder->Write(record);
  holder.reset();

  taker.join();
}

TEST_F(AttachmentStoreTest, ATakerFindsNothingAfterTheHolderRemovedIt) {
  AttachmentStore store(dir_);
  auto holder = store.Create(key_);
  holder->Write(Record(key_));
  std::latch waiting(1);
  std::thread taker([&] {
    waiting.count_down();
    EXPECT_FALSE(store.Take(key_));
  });

  waiting.wait();
  holder->Remove();
  holder.reset();

  taker.join();
}

TEST_F(AttachmentStoreTest, CON_05_ADelEndsTheProcessOfARunningAdd) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    AttachmentStore store(dir_);
    auto locked = store.Create(key_);
    locked->Write(Record(key_));
    (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);

  const auto taken = AttachmentStore(dir_).Take(key_);

  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->record()->owner.pid, child);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST_F(AttachmentStoreTest, FindReadsWhatSomebodyElseHolds) {
  AttachmentStore store(dir_);
  EXPECT_EQ(store.Find(key_), std::nullopt);
  auto holder = store.Create(key_);
  EXPECT_EQ(store.Find(key_), std::nullopt) << "nothing is written yet";

  holder->Write(Record(key_));

  EXPECT_EQ(store.Find(key_), Record(key_));
}

TEST_F(AttachmentStoreTest, GC_09_TryTakeLeavesAloneWhatSomebodyIsAtWorkOn) {
  AttachmentStore store(dir_);
  EXPECT_FALSE(store.TryTake(key_));
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto locked = AttachmentStore(dir_).Create(key_);
    locked->Write(Record(key_));
    (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);

  EXPECT_FALSE(store.TryTake(key_));
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "it lives";

  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(store.TryTake(key_)->record());
}

TEST_F(AttachmentStoreTest, InUseIsWhatSomebodyIsAtWorkOnOrWasAddedJustNow) {
  AttachmentStore store(dir_);
  EXPECT_FALSE(store.IsInUse(key_));
  {
    auto attachment = store.Create(key_);
    EXPECT_TRUE(store.IsInUse(key_));
    attachment->Write(Record(key_));
  }
  EXPECT_FALSE(store.IsInUse(key_)) << "of a killed ADD";
  AttachmentRecord added = Record(key_);
  added.added = true;
  store.Take(key_)->Write(added);
  EXPECT_TRUE(store.IsInUse(key_));

  const fs::path record = *fs::directory_iterator(dir_ / "attachments");
  fs::last_write_time(record, fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_FALSE(store.IsInUse(key_));
}

TEST_F(AttachmentStoreTest, GC_08_ListHasTheAttachmentsOfItsNetworkOnly) {
  AttachmentStore store(dir_);
  const AttachmentKey second = {"kuryr", "a", "net1"};
  const AttachmentKey other = {"kuryr2", "a", "eth0"};
  store.Create(key_)->Write(Record(key_));
  store.Create(other)->Write(Record(other));
  const auto empty = store.Create(second);
  std::ofstream(dir_ / "attachments" / ".kuryr:left:over") << "of a killed writer";
  std::ofstream(dir_ / "attachments" / "README") << "somebody's";

  EXPECT_THAT(store.List("kuryr"), ::testing::UnorderedElementsAre(key_, second));
  EXPECT_THAT(store.List("kuryr2"), ::testing::ElementsAre(other));
  EXPECT_THAT(store.List("kury"), ::testing::IsEmpty());
}

TEST_F(AttachmentStoreTest, ENV_08_ContainerIdsMayBeLongerThanAFilesName) {
  AttachmentStore store(dir_);
  const std::string start(4000, 'f');
  const AttachmentKey one = {"kuryr", start + "1", "eth0"};
  const AttachmentKey two = {"kuryr", start + "2", "eth0"};
  const AttachmentKey of_long_network = {std::string(300, 'n'), "c", "eth0"};
  for (const AttachmentKey& key : {one, two, of_long_network})
    store.Create(key)->Write(Record(key));

  EXPECT_EQ(store.Find(one), Record(one));
  EXPECT_EQ(store.TryTake(two)->record(), Record(two));
  EXPECT_THAT(store.List("kuryr"), ::testing::UnorderedElementsAre(one, two));
  EXPECT_THAT(store.List(of_long_network.network), ::testing::ElementsAre(of_long_network));
  for (const AttachmentKey& key : {one, two, of_long_network}) store.Take(key)->Remove();
  EXPECT_EQ(Files(), 0U);
}

TEST_F(AttachmentStoreTest, AFolderThatOthersMayWriteIsRefused) {
  for (const char* folder : {".", "attachments"}) {
    const AttachmentStore made(dir_);
    for (const unsigned mode : {0777U, 0770U, 0702U}) {
      fs::permissions(dir_ / folder, fs::perms(mode));
      EXPECT_THROW(AttachmentStore store(dir_), std::system_error) << folder << " " << mode;
    }
    fs::permissions(dir_ / folder, fs::perms::owner_all);
  }
}

TEST_F(AttachmentStoreTest, AFolderOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::chown(dir_.c_str(), 65534, 65534), 0);

  EXPECT_THROW(AttachmentStore store(dir_), std::system_error);
}

TEST_F(AttachmentStoreTest, NoLinkIsFollowedToTheRecords) {
  fs::create_directory(dir_ / "elsewhere");
  fs::create_directory_symlink("elsewhere", dir_ / "state");
  EXPECT_THROW(AttachmentStore store(dir_ / "state"), std::system_error);
  EXPECT_TRUE(fs::is_empty(dir_ / "elsewhere"));

  fs::create_directory_symlink("elsewhere", dir_ / "attachments");
  EXPECT_THROW(AttachmentStore store(dir_), std::system_error);
}

TEST(ProcessTest, AProcessOfTheSameNumberButAnotherStartIsLeftAlone) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }

  EXPECT_FALSE(Terminate({.pid = child, .start_time = 1}));
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);

  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace kuryr::cni
