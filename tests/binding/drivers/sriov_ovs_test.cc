#include <functional>
#include <thread>

#include "base/error.h"
#include "binding/drivers/binding.h"
#include "binding/ovs/open_vswitch.h"
#include "tests/binding/differences.h"
#include "tests/binding/drivers/sriov_driver_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr::binding {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class SriovOvsTest : public DriverTest<NewSriovDriver> {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ovs_.emplace("/run");
    card_.emplace();
    Configure(Config());
    pod_.emplace(MakePod(1));
    plug_ = driver_->Plan({"eth0", true, HostDeviceVif(1)}).plug;
  }
  void TearDown() override {
    ovs_.reset();
    DriverTest::TearDown();
  }
  [[nodiscard]] BindingConfig Config() const {
    return {.ovsdb_connection = ovs_->remote(),
            .datapath_type = "netdev",
            .sysfs = card_->sysfs.root()};
  }
  std::string Vsctl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--no-wait");
    return ovs_->Vsctl(arguments);
  }
  /// Waits for ovs-vswitchd, whose first bridge brings the devices of its datapath.
  void MakeBridge() {
    ovs_->Vsctl({"add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev"});
  }
  std::string State() {
    return StateWith(*pod_) + Vsctl({"--columns=name,ports", "list", "Bridge"}) +
           Vsctl({"--columns=name,external_ids", "list", "Interface"});
  }
  std::string Check(const vif::Vif& vif) {
    return FirstOf(driver_->Check({driver_->PlanWith({"eth0", true, vif}, plug_), pod_->attachment,
                                   pod_->netns, Soon()}))
        .value_or("");
  }
  template <typename Error>
  void ExpectRefused(const vif::Vif& vif, const std::string& reason) {
    const std::string before = State();
    try {
      Connect(vif, *pod_);
      ADD_FAILURE() << "accepted";
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr(reason));
    }
    EXPECT_EQ(State(), before);
  }

  std::optional<test::PrivateOvs> ovs_;
  std::optional<FakeSwitchCard> card_;
  std::optional<Pod> pod_;
  Plug plug_;
};

TEST_F(SriovOvsTest, TwoPodsReachEachOtherThroughTheirRepresentors) {
  const Pod two = MakePod(2);

  const auto interfaces = Connect(HostDeviceVif(1), *pod_);
  Connect(HostDeviceVif(2), two);

  Ping(*pod_, "10.1.0.2");
  Ping(*pod_, "fd00::2");
  ASSERT_EQ(interfaces.size(), 2U);
  EXPECT_EQ(interfaces[0].name, "wire1");
  EXPECT_EQ(interfaces[0].mtu, 1450U);
  EXPECT_EQ(interfaces[1], (Interface{.name = "eth0",
                                      .mac = *MacAddress::Parse("fa:16:3e:80:d4:01"),
                                      .mtu = 1450,
                                      .in_pod = true}));
  EXPECT_THAT(Vsctl({"get", "Interface", "wire1", "external_ids"}),
              HasSubstr("iface-id=\"450e5c61-dc7c-5f0d-84da-bc7052e8b541\""));
}

TEST_F(SriovOvsTest, PlanNamesBridgeAndVf) {
  EXPECT_EQ(plug_, (Plug{.driver = "sriov",
                         .ifname = "eth0",
                         .host_interface = "ens1v1",
                         .bridge = "br-int",
                         .device = "0000:03:10.1"}));
}

TEST_F(SriovOvsTest, DisconnectRemovesThePortAndMayBeRepeated) {
  const Pod two = MakePod(2);
  Connect(HostDeviceVif(2), two);
  const std::string before = State();
  Connect(HostDeviceVif(1), *pod_);

  for (int i = 0; i < 2; ++i) {
    driver_->Disconnect(plug_, pod_->attachment, Soon());
    EXPECT_EQ(State(), before);
  }
}

TEST_F(SriovOvsTest, BrokenRepresentorIsRepaired) {
  const vif::Vif vif = HostDeviceVif(1);
  Connect(vif, *pod_);
  const PlugRequest request = {driver_->PlanWith({"eth0", true, vif}, plug_), pod_->attachment,
                               pod_->netns, Soon()};
  const std::vector<std::function<void()>> damages = {
      [] { RunOnHost({"ip", "link", "set", "wire1", "down"}); },
      [] { RunOnHost({"ip", "link", "set", "wire1", "mtu", "1400"}); },
      [this] { ovs_->Vsctl({"del-port", "wire1"}); }};
  for (const auto& damage : damages) {
    damage();
    EXPECT_NE(Check(vif), "");

    (void)driver_->Repair(request);

    EXPECT_EQ(Check(vif), "");
    EXPECT_EQ(RouteSocket().FindLink("wire1")->mtu, 1450U);
  }
}

TEST_F(SriovOvsTest, VfComesBackAlsoWithOpenVSwitchDown) {
  Connect(HostDeviceVif(1), *pod_);
  ovs_->StopServer();

  EXPECT_THROW(driver_->Disconnect(plug_, pod_->attachment, Soon()), std::exception);

  EXPECT_TRUE(RouteSocket().FindLink("ens1v1"));
}

TEST_F(SriovOvsTest, NothingIsTouchedWithOpenVSwitchDown) {
  BindingConfig config = Config();
  config.ovsdb_wait = {};
  Configure(config);
  const std::string before = StateWith(*pod_);
  ovs_->StopServer();

  EXPECT_THROW(Connect(HostDeviceVif(1), *pod_), std::exception);

  EXPECT_EQ(StateWith(*pod_), before);
}

TEST_F(SriovOvsTest, FailingLayer3LeavesNothing) {
  vif::VifHostDevice vif = HostDeviceVif(1);
  (*vif.network->subnets->objects)[1].gateway = *IpAddress::Parse("fd00::1");

  EXPECT_THROW(Connect(vif, *pod_), std::system_error);
  EXPECT_EQ(Vsctl({"list-br"}), "") << "the bridge was made by this Connect";
  MakeBridge();
  ExpectRefused<std::system_error>(vif, "add route");
}

TEST_F(SriovOvsTest, PortOfAnotherIsLeftAlone) {
  MakeBridge();
  ovs_->Vsctl({"add-port", "br-int", "wire1"});

  ExpectRefused<HostInterfaceInUse>(HostDeviceVif(1), "port wire1");
}

TEST_F(SriovOvsTest, RepresentorIsTheCardsAndNotTheVifs) {
  card_->sysfs.SetAttribute("wire1", "phys_port_name", "pf0vf9");
  ExpectRefused<std::system_error>(HostDeviceVif(1), "find the representor");
  vif::VifHostDevice vif = HostDeviceVif(1);
  vif::PortProfileOvsRepresentor profile;
  profile.representor_name = std::string("ens1");
  vif.port_profile = vif::PortProfile(profile);
  ExpectRefused<std::system_error>(vif, "find the representor");
  profile.representor_address = *vif::PciAddress::Parse(VfAddress(2));
  vif.port_profile = vif::PortProfile(profile);
  ExpectRefused<ParseError>(vif, "$.port_profile: has the representor of 0000:03:10.2");
}

TEST_F(SriovOvsTest, OffloadProfileNamesAPortThatHasNoNameOfTheCard) {
  card_->sysfs.SetAttribute("wire1", "phys_port_name", "");
  vif::VifHostDevice vif = HostDeviceVif(1);
  vif::PortProfileOpenVSwitch profile;
  profile.interface_id = *vif.id;
  vif::DatapathOffloadRepresentor offload;
  offload.representor_name = std::string("wire1");
  offload.representor_address = VfAddress(1);
  profile.datapath_offload = vif::DatapathOffload(offload);
  vif.port_profile = vif::PortProfile(profile);

  EXPECT_NO_THROW(Connect(vif, *pod_));
}

TEST_F(SriovOvsTest, CheckNamesTheFirstDifference) {
  Connect(HostDeviceVif(1), *pod_);
  EXPECT_EQ(Check(HostDeviceVif(1)), "");

  RunOnHost({"ip", "link", "set", "wire1", "down"});
  EXPECT_THAT(Check(HostDeviceVif(1)), HasSubstr("wire1 is down"));
  RunOnHost({"ip", "link", "set", "wire1", "up"});
  Vsctl({"del-port", "wire1"});
  EXPECT_THAT(Check(HostDeviceVif(1)), HasSubstr("port wire1 is missing"));
}

/// The port is found by OVS's external_ids, the VF by its mark: two plugs for one VIF.
TEST_F(SriovOvsTest, WithTheRecordLostBothHalvesAreFoundAndRemoved) {
  const std::string before = StateWith(*pod_);
  Connect(HostDeviceVif(1), *pod_);
  Binding binding(Config());

  const auto plugs = binding.FindPlugs(pod_->attachment, Soon());

  EXPECT_THAT(
      plugs,
      UnorderedElementsAre(
          Plug{.driver = "ovs", .ifname = "eth0", .host_interface = "wire1", .bridge = "br-int"},
          Plug{.driver = "sriov",
               .ifname = "eth0",
               .host_interface = "ens1v1",
               .device = "0000:03:10.1"}));
  binding.Disconnect(plugs, pod_->attachment, Soon());
  EXPECT_EQ(Vsctl({"--columns=name", "find", "Interface", "name=wire1"}), "");
  // While ovs-vswitchd lets go of the port, it writes back the flags it remembers.
  OpenVSwitch(ovs_->remote()).WaitUntilApplied(Soon());
  RunOnHost({"ip", "link", "set", "wire1", "down"});
  EXPECT_THAT(StateWith(*pod_), HasSubstr(before.substr(0, before.find("--"))));
}

}  // namespace
}  // namespace kuryr::binding
