#include "binding/drivers/drivers.h"

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "tests/binding/differences.h"
#include "tests/binding/driver_fixture.h"
#include "tests/support/fake_pci.h"

namespace kuryr::binding {
namespace {

namespace fs = std::filesystem;
using test::FakePci;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSysfs = "/run/sys";
constexpr const char* kMountPoint = "/run/pci_address";

/// The links are real, one end of a veth in the place of a device; what /sys says of them is not.
class DpdkDriverTest : public DriverTest<NewDpdkDriver> {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    fs::create_directory(kMountPoint);
    try {
      pci_.emplace(kSysfs, Mac());
    } catch (const std::system_error& e) {
      GTEST_SKIP() << "nothing here can play the kernel: " << e.what();
    }
    RunOnHost({"ip", "link", "add", FakePci::kLink, "address", Mac(), "type", "veth", "peer",
               "name", "wire"});
    Configure(Config());
    pod_.emplace(MakePod(1));
  }
  static BindingConfig Config() { return {.pci_mount_point = kMountPoint, .sysfs = kSysfs}; }
  static std::string Mac() { return test::DpdkVif(1).address->ToString(); }
  static fs::path FileOf(int n) {
    return fs::path(kMountPoint) / ("container-" + std::to_string(n) + "-eth0");
  }
  static std::string ReadFile(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string Failure(const vif::Vif& vif = test::DpdkVif(1)) {
    try {
      Connect(vif, *pod_);
    } catch (const std::exception& e) {
      return e.what();
    }
    ADD_FAILURE() << "connected";
    return {};
  }
  void ExpectNothingChanged() {
    EXPECT_EQ(pci_->Driver(), FakePci::kKernelDriver);
    EXPECT_TRUE(fs::is_empty(kMountPoint));
  }
  std::optional<std::string> Check() {
    return FirstOf(driver_->Check({PlanOfRecord(), pod_->attachment, pod_->netns, Soon()}));
  }
  /// The device itself has no MAC any more by which it is found.
  [[nodiscard]] Planned PlanOfRecord() const {
    return driver_->PlanWith({"eth0", true, test::DpdkVif(1)}, plug_);
  }

  std::optional<FakePci> pci_;
  std::optional<Pod> pod_;
  const Plug plug_{.driver = "dpdk", .ifname = "eth0", .device = FakePci::kDevice};
};

TEST_F(DpdkDriverTest, DeviceWithTheVifsMacGetsTheOtherDriver) {
  EXPECT_EQ(driver_->Plan({"eth0", true, test::DpdkVif(1)}).plug, plug_);

  EXPECT_THAT(Connect(test::DpdkVif(1), *pod_),
              ElementsAre(Interface{
                  .name = "eth0", .mac = *test::DpdkVif(1).address, .mtu = 1450, .in_pod = true}));

  EXPECT_EQ(pci_->Driver(), FakePci::kDpdkDriver);
  EXPECT_EQ(pci_->Written("bus/pci/drivers/virtio-pci/unbind"), FakePci::kDevice);
  EXPECT_EQ(pci_->Written("bus/pci/drivers/uio_pci_generic/bind"), FakePci::kDevice);
  EXPECT_EQ(ReadFile(FileOf(1)), FakePci::kDevice);
  EXPECT_EQ(fs::status(FileOf(1)).permissions(), fs::perms(0644));
  EXPECT_EQ(Check(), std::nullopt);
}

TEST_F(DpdkDriverTest, DisconnectGivesTheDeviceBackAndMayBeRepeated) {
  Connect(test::DpdkVif(1), *pod_);

  driver_->Disconnect(plug_, pod_->attachment, Soon());

  ExpectNothingChanged();
  EXPECT_EQ(pci_->Written("bus/pci/drivers_probe"), FakePci::kDevice);
  EXPECT_EQ(pci_->Written("bus/pci/devices/0000:00:05.0/driver_override"), "\n");
  driver_->Disconnect(plug_, pod_->attachment, Soon());
  ExpectNothingChanged();
  Connect(test::DpdkVif(1), *pod_);
}

TEST_F(DpdkDriverTest, DisconnectTakesTheHalfWrittenFileOfAKilledConnect) {
  Connect(test::DpdkVif(1), *pod_);
  const fs::path file = FileOf(1);
  fs::rename(file, file.parent_path() / ("." + file.filename().string() + ".new"));

  driver_->Disconnect(plug_, pod_->attachment, Soon());

  EXPECT_TRUE(fs::is_empty(file.parent_path()));
}

TEST_F(DpdkDriverTest, DisconnectOfAnotherAttachmentTouchesNothing) {
  Connect(test::DpdkVif(1), *pod_);

  driver_->Disconnect(plug_, PodAttachment(2), Soon());

  EXPECT_EQ(Check(), std::nullopt);
}

TEST_F(DpdkDriverTest, DeviceOfAPodIsNotTakenByAnother) {
  Connect(test::DpdkVif(1), *pod_);
  const Pod other = MakePod(2);

  EXPECT_THROW(driver_->Connect({PlanOfRecord(), other.attachment, other.netns, Soon()}),
               std::system_error);

  EXPECT_FALSE(fs::exists(FileOf(2)));
  EXPECT_EQ(Check(), std::nullopt);
}

TEST_F(DpdkDriverTest, DeviceLeftWithoutADriverIsGivenBack) {
  std::ofstream(FileOf(1)) << FakePci::kDevice;
  std::ofstream(fs::path(kSysfs) / "bus/pci/drivers/virtio-pci/unbind") << FakePci::kDevice;
  ASSERT_EQ(pci_->Driver(), "");

  driver_->Disconnect(plug_, pod_->attachment, Soon());

  ExpectNothingChanged();
}

TEST_F(DpdkDriverTest, FindPlugsGivesWhatTheRecordSaid) {
  Connect(test::DpdkVif(1), *pod_);

  EXPECT_THAT(driver_->FindPlugs(pod_->attachment, Soon()), ElementsAre(plug_));
  EXPECT_THAT(driver_->FindPlugs(PodAttachment(2), Soon()), IsEmpty());
}

TEST_F(DpdkDriverTest, FileThatNamesAnotherDeviceDoesNotUnbindThat) {
  std::ofstream(FileOf(1)) << FakePci::kDevice;

  for (const Plug& plug : driver_->FindPlugs(pod_->attachment, Soon()))
    driver_->Disconnect(plug, pod_->attachment, Soon());

  ExpectNothingChanged();
  EXPECT_EQ(pci_->Written("bus/pci/drivers/virtio-pci/unbind"), "");
}

TEST_F(DpdkDriverTest, DetachedDeviceIsNoFailure) {
  Connect(test::DpdkVif(1), *pod_);
  fs::remove(fs::path(kSysfs) / "bus/pci/devices" / FakePci::kDevice);

  driver_->Disconnect(plug_, pod_->attachment, Soon());

  EXPECT_FALSE(fs::exists(FileOf(1)));
}

TEST_F(DpdkDriverTest, LinkThatTheNodeUsesIsNotTaken) {
  RunOnHost({"ip", "link", "set", FakePci::kLink, "up"});
  EXPECT_THROW(Connect(test::DpdkVif(1), *pod_), HostInterfaceInUse);
  EXPECT_THAT(Failure(), AllOf(HasSubstr("ens5"), HasSubstr("is up")));
  ExpectNothingChanged();
  RunOnHost({"ip", "link", "set", FakePci::kLink, "down"});

  RunOnHost({"ip", "link", "add", "br0", "type", "bridge"});
  RunOnHost({"ip", "link", "set", FakePci::kLink, "master", "br0"});
  EXPECT_THAT(Failure(), HasSubstr("is a port of another one"));
  ExpectNothingChanged();
  RunOnHost({"ip", "link", "set", FakePci::kLink, "nomaster"});

  pci_->AddLink("ens5p2", "fa:16:3e:80:d4:99", FakePci::kDevice);
  EXPECT_THAT(Failure(), HasSubstr("is the same device as ens5p2"));
  ExpectNothingChanged();
}

TEST_F(DpdkDriverTest, DeviceIsFoundByMacAloneAndOnlyOne) {
  pci_->AddLink("vlan5", Mac(), "");
  EXPECT_EQ(driver_->Plan({"eth0", true, test::DpdkVif(1)}).plug, plug_)
      << "a virtual link does not count";
  pci_->AddLink("ens6", Mac(), FakePci::kDevice);
  EXPECT_THAT(Failure(), HasSubstr("both ens5 and ens6"));
  EXPECT_THAT(Failure(test::DpdkVif(2)), HasSubstr("no network interface has it"));
  ExpectNothingChanged();
}

TEST_F(DpdkDriverTest, PciAddressOfTheVifIsNotBelieved) {
  vif::VifNestedDpdk vif;
  static_cast<vif::VifBase&>(vif) = test::DpdkVif(1);
  vif.pci_address = std::string(FakePci::kDevice);
  EXPECT_EQ(driver_->Plan({"eth0", true, vif}).plug, plug_);
  vif.pci_address = std::string("0000:00:01.0");
  EXPECT_THROW((void)driver_->Plan({"eth0", true, vif}), ParseError);
}

TEST_F(DpdkDriverTest, UnknownDriverIsNamedAndChangesNothing) {
  BindingConfig config = Config();
  config.dpdk_driver = "vfio-pci";
  Configure(config);

  EXPECT_THAT(Failure(), HasSubstr("modprobe vfio-pci"));

  ExpectNothingChanged();
}

TEST_F(DpdkDriverTest, EveryRefusedStepIsUndone) {
  for (const char* file :
       {"bus/pci/drivers/virtio-pci/unbind", "bus/pci/drivers/uio_pci_generic/bind"}) {
    pci_->Refuse(file);
    EXPECT_THAT(Failure(), HasSubstr(file));
    ExpectNothingChanged();
  }
  pci_->Refuse("");
  pci_->Ignore("bus/pci/drivers/uio_pci_generic/bind");
  EXPECT_THAT(Failure(), HasSubstr("to driver uio_pci_generic: it has none"));
  ExpectNothingChanged();
  pci_->Ignore("");
  Connect(test::DpdkVif(1), *pod_);
}

TEST_F(DpdkDriverTest, DeviceThatIsNotGivenBackKeepsItsMark) {
  Connect(test::DpdkVif(1), *pod_);
  pci_->Ignore("bus/pci/drivers_probe");
  EXPECT_THROW(driver_->Disconnect(plug_, pod_->attachment, Soon()), std::system_error);
  EXPECT_TRUE(fs::exists(FileOf(1)));

  pci_->Ignore("");
  driver_->Disconnect(plug_, pod_->attachment, Soon());

  ExpectNothingChanged();
}

TEST_F(DpdkDriverTest, MissingFolderIsNamed) {
  fs::remove(kMountPoint);

  EXPECT_THAT(Failure(), AllOf(HasSubstr(kMountPoint), HasSubstr("pci_mount_point")));

  EXPECT_EQ(pci_->Driver(), FakePci::kKernelDriver);
  EXPECT_NO_THROW(driver_->Disconnect(plug_, pod_->attachment, Soon()));
}

TEST_F(DpdkDriverTest, CheckNamesTheFirstDifference) {
  EXPECT_THAT(Check().value(), HasSubstr("container-1-eth0 is missing"));
  std::ofstream(FileOf(1)) << "0000:00:01.0";
  EXPECT_THAT(Check().value(), HasSubstr("says \"0000:00:01.0\" instead of 0000:00:05.0"));
  std::ofstream(FileOf(1)) << FakePci::kDevice;
  EXPECT_THAT(Check().value(), HasSubstr("has driver virtio-pci instead of uio_pci_generic"));
}

}  // namespace
}  // namespace kuryr::binding
