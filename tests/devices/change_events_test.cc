#include "devices/change_events.h"

#include <gmock/gmock.h>
#include <poll.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "binding/netlink/route_socket.h"
#include "tests/devices/fake_devices.h"
#include "tests/support/netns_fixture.h"

namespace kuryr::devices {
namespace {

namespace fs = std::filesystem;

/// A node with folders of its own. The kernel tells a change in them, or of a link, before the call
/// that makes it returns.
class ChangeEventsTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    for (const fs::path& folder : {kSockets, kConfig, kDevinfo, kSysfs / "bus/pci/devices"})
      fs::create_directories(folder);
  }

  [[nodiscard]] static ChangeEvents Make() {
    return ChangeEvents({.sysfs = kSysfs,
                         .sockets = kSockets,
                         .config = kConfig,
                         .devinfo = kDevinfo,
                         .bridges = {.kernel = {"br*"}}});
  }
  /// The changes as "devices sockets config "; parts may be missing.
  static std::string Told(ChangeEvents& events) {
    const Changes changes = events.Take();
    return std::string(changes.devices ? "devices " : "") + (changes.sockets ? "sockets " : "") +
           (changes.config ? "config " : "");
  }
  static bool IsReadable(int fd) {
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&ready, 1, 0) == 1;
  }

  inline static const fs::path kSockets = "/run/kubelet/device-plugins";
  inline static const fs::path kConfig = "/run/pcidp";
  inline static const fs::path kDevinfo = "/run/devinfo";
  inline static const fs::path kSysfs = "/run/sys";
};

TEST_F(ChangeEventsTest, EachFolderSaysWhatHasChanged) {
  ChangeEvents events = Make();
  EXPECT_EQ(Told(events), "");

  std::ofstream(kSockets / "kubelet.sock") << "";
  EXPECT_TRUE(IsReadable(events.folders_fd()));
  EXPECT_EQ(Told(events), "sockets ");
  fs::remove(kSockets / "kubelet.sock");
  EXPECT_EQ(Told(events), "sockets ");
  std::ofstream(kDevinfo / "kuryr-devices.drain") << "";
  EXPECT_EQ(Told(events), "devices ");
  fs::create_directory(kSysfs / "bus/pci/devices/0000:03:10.0");
  EXPECT_EQ(Told(events), "devices ");
  std::ofstream(kConfig / "config.json") << "{}";
  EXPECT_EQ(Told(events), "config ");
  EXPECT_EQ(Told(events), "");
}

/// The kubelet writes a ConfigMap into a new folder, and renames the link that leads there.
TEST_F(ChangeEventsTest, ConfigMapThatIsSwappedIsAChange) {
  for (const char* name : {"..1", "..2"}) fs::create_directory(kConfig / name);
  fs::create_symlink("..1", kConfig / "..data");
  ChangeEvents events = Make();

  fs::create_symlink("..2", kConfig / "..data_tmp");
  fs::rename(kConfig / "..data_tmp", kConfig / "..data");

  EXPECT_EQ(Told(events), "config ");
}

TEST_F(ChangeEventsTest, FolderThatComesLaterOrAgainIsWatched) {
  fs::remove_all(kSockets);
  ChangeEvents events = Make();
  for (int round = 0; round < 2; ++round) {
    fs::create_directories(kSockets);
    events.Watch();
    std::ofstream(kSockets / "kubelet.sock") << "";
    EXPECT_EQ(Told(events), "sockets ") << round;

    fs::remove_all(kSockets);
    EXPECT_EQ(Told(events), "sockets ") << round;
  }
}

TEST_F(ChangeEventsTest, KernelTellsOfLinksThatMayBeBridgesOfTheOffer) {
  ChangeEvents events = Make();
  if (events.uevents_fd() < 0) GTEST_SKIP() << "no uevents here (NETLINK_KOBJECT_UEVENT)";
  binding::RouteSocket host;

  host.CreateBridgeDown("other", {});
  EXPECT_EQ(Told(events), "");
  host.CreateBridgeDown("br0", {});
  EXPECT_TRUE(IsReadable(events.uevents_fd()));
  EXPECT_EQ(Told(events), "devices ");
  host.DeleteLink("br0");
  EXPECT_EQ(Told(events), "devices ");
}

TEST(HardwareUevents, AreThoseOfPciDevices) {
  EXPECT_TRUE(IsOfHardware("bind@/devices/pci0000:00/0000:00:1c.0/0000:03:10.1"));
  EXPECT_TRUE(IsOfHardware("add@/devices/pci0000:00/0000:00:1c.0/0000:03:00.0/mlx5_core.sf.2"));
  EXPECT_TRUE(IsOfHardware("add@/devices/platform/40000000.pcie/pci0000:00/0000:00:01.0"));
  EXPECT_FALSE(IsOfHardware("add@/devices/virtual/net/veth1"));
}

}  // namespace
}  // namespace kuryr::devices
