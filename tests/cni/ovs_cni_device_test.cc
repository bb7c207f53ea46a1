#include <fstream>

#include "cni/network_binding.h"
#include "tests/cni/device_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr::cni {
namespace {

using binding::RouteSocket;
using binding::VfAddress;
using binding::VfLink;
using nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// ovs-cni's deviceID on a card with a switch, whose physical function is a port of br-card.
class OvsCniDeviceTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    ovs_.emplace("/run");
    card_.emplace();
    config_.state_dir = "/run/kuryr";
    config_.ovs_cni_cache_dir = "/run/ovscache";
    config_.binding = {.ovsdb_connection = ovs_->remote(),
                       .datapath_type = "netdev",
                       .sysfs = card_->sysfs.root()};
    ovs_->Vsctl({"add-br", "br-card", "--", "set", "Bridge", "br-card", "datapath_type=netdev",
                 "--", "add-port", "br-card", "ens1"});
    netns_ = MakePodNetnsPath();
  }
  void TearDown() override {
    ovs_.reset();
    NetnsTest::TearDown();
  }

  std::string Call(const std::string& command, json fields) {
    json input = {{"cniVersion", "1.0.0"},
                  {"name", "ovs-trunk-net"},
                  {"type", "ovs"},
                  {"deviceID", VfAddress(1)},
                  {"trunk", json::array({json{{"minID", 1050}, {"maxID", 1052}}})}};
    input.update(fields);
    Request request = ParseRequest({.command = command,
                                    .container_id = "c1",
                                    .netns = netns_,
                                    .ifname = "net1",
                                    .args = "K8S_POD_NAMESPACE=default;K8S_POD_NAME=web",
                                    .path = "/usr/lib/cni"},
                                   input.dump());
    Config config = config_;
    const Deadline deadline = Deadline::After(std::chrono::seconds(60));
    ApplyNetwork(request, config, deadline);
    AttachmentStore attachments(config.state_dir);
    binding::Binding binding(ForDrivers(config, attachments));
    const NodeContext node = {
        .binding = binding, .attachments = attachments, .owner = {}, .writer = writer_};
    GivenEvents no_events({});
    return FindCommand(request.command)({.request = request,
                                         .node = node,
                                         .config = config,
                                         .events = no_events,
                                         .stages = nobody_,
                                         .deadline = deadline,
                                         .on_added = {}});
  }
  [[nodiscard]] std::optional<binding::Link> InPod() const {
    return RouteSocket::OpenIn(binding::Netns::Open(netns_)).FindLink("net1");
  }
  /// VF 1 is in the pod, or back.
  void TellSysfs(const std::string& link) { card_->sysfs.SetLinkOf(VfAddress(1), link); }

  std::optional<test::PrivateOvs> ovs_;
  std::optional<binding::FakeSwitchCard> card_;
  Config config_;
  NoWriter writer_;
  StageObserver nobody_;
  std::string netns_;
};

TEST_F(OvsCniDeviceTest, TheDevicesRepresentorIsAPortOfItsUplinksBridge) {
  const MacAddress mac = RouteSocket().FindLink(VfLink(1))->mac;

  const std::string result = Call("ADD", {{"mtu", 1400}});
  TellSysfs("");

  EXPECT_EQ(ovs_->Vsctl({"port-to-br", "wire1"}), "br-card");
  EXPECT_EQ(ovs_->Vsctl({"get", "Port", "wire1", "trunks", "vlan_mode"}),
            "[1050, 1051, 1052]\ntrunk");
  ASSERT_TRUE(InPod().has_value());
  EXPECT_EQ(InPod()->mac, mac);
  EXPECT_EQ(InPod()->mtu, 1400U);
  const json kept = json::parse(std::ifstream("/run/ovscache/c1-net1"));
  EXPECT_EQ(kept["OrigIfName"], VfLink(1));
  EXPECT_EQ(kept["Netconf"]["deviceID"], VfAddress(1));
  EXPECT_EQ(kept["Netconf"]["bridge"], "br-card");
  Call("CHECK", {{"mtu", 1400}, {"prevResult", json::parse(result)}});

  Call("DEL", json::object());
  TellSysfs(VfLink(1));
  Call("DEL", json::object());

  EXPECT_EQ(ovs_->Vsctl({"list-ports", "br-card"}), "ens1");
  EXPECT_EQ(RouteSocket().FindLink(VfLink(1))->mac, mac);
  EXPECT_FALSE(fs::exists("/run/ovscache/c1-net1"));
}

TEST_F(OvsCniDeviceTest, AnUplinkOfNoBridgeIsNamed) {
  ovs_->Vsctl({"del-port", "ens1"});

  try {
    Call("ADD", json::object());
    FAIL() << "accepted";
  } catch (const CniError& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidConfig);
    EXPECT_THAT(e.what(), HasSubstr("bridge is not set, and no bridge of Open vSwitch has ens1"));
  }
  EXPECT_TRUE(RouteSocket().FindLink(VfLink(1)).has_value());
}

TEST_F(OvsCniDeviceTest, ADeviceThatIsNoneIsNamed) {
  for (const char* device : {"0000:ff:00.0", "eth0", "../0000:03:10.1"}) {
    try {
      Call("ADD", {{"deviceID", device}});
      FAIL() << device;
    } catch (const CniError& e) {
      EXPECT_EQ(e.code(), ErrorCode::kInvalidConfig);
      EXPECT_THAT(e.what(), HasSubstr("deviceID"));
    }
  }
}

TEST_F(OvsCniDeviceTest, AVdpaDeviceIsRefusedByName) {
  fs::create_directories(card_->sysfs.Device(VfAddress(1)) / "vdpa0");
  try {
    Call("ADD", json::object());
    FAIL() << "accepted";
  } catch (const CniError& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidConfig);
    EXPECT_THAT(e.what(), HasSubstr(VfAddress(1) + " has the vDPA device vdpa0"));
  }
  EXPECT_TRUE(RouteSocket().FindLink(VfLink(1)).has_value());
  EXPECT_EQ(ovs_->Vsctl({"list-ports", "br-card"}), "ens1");
}

TEST_F(OvsCniDeviceTest, ADeviceThatOvsCniGaveComesBackUnderItsName) {
  RouteSocket host;
  const binding::Netns pod = binding::Netns::Open(netns_);
  host.ChangeLink(host.FindLink(VfLink(1)).value(), {.netns_fd = pod.fd(), .name = "net1"});
  TellSysfs("");
  ovs_->Vsctl({"add-port", "br-card", "wire1", "--", "set", "Port", "wire1",
               "external_ids:contNetns=" + netns_, "external_ids:contIface=net1",
               "external_ids:owner=ovs-cni.network.kubevirt.io"});
  fs::create_directory("/run/ovscache");
  fs::permissions("/run/ovscache", fs::perms::owner_all);
  std::ofstream("/run/ovscache/c1-net1")
      << json({{"Netconf", {{"bridge", "br-card"}, {"deviceID", VfAddress(1)}}},
               {"OrigIfName", VfLink(1)},
               {"UserspaceMode", false}});

  for (int i = 0; i < 2; ++i) Call("DEL", json::object());

  EXPECT_TRUE(host.FindLink(VfLink(1)).has_value());
  EXPECT_FALSE(InPod().has_value());
  EXPECT_EQ(ovs_->Vsctl({"list-ports", "br-card"}), "ens1");
}

}  // namespace
}  // namespace kuryr::cni
