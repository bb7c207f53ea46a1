#include "tests/bench/bench_node.h"

#include "tests/binding/everything.h"

namespace kuryr::binding {
namespace {

/// Gives a VIF the names that are unique to its pod.
struct Names {
  std::string id;
  int n;

  void operator()(vif::VifOpenVSwitch& vif) const { vif.vif_name = "tap" + id; }
  void operator()(vif::VifBridge& vif) const {
    vif.vif_name = "tap" + id;
    if (*vif.plugin == "ovs") vif.bridge_name = ("qbr" + *vif.id).substr(0, 14);
  }
  void operator()(vif::VifVlanNested& vif) const { vif.vlan_id = static_cast<uint16_t>(n); }
  template <typename Other>
  void operator()(Other& /*vif*/) const {}
};

}  // namespace

BenchNode::BenchNode(MakeDevices make_devices, int pods) {
  NetnsTest::SetUp();
  ovs_.emplace("/run");
  ovs_->Vsctl({"add-br", "br-int", "--", "set", "Bridge", "br-int",
               "datapath_type=" + test::PrivateOvs::datapath_type()});
  RunOnHost({"ip", "link", "add", "br-lan", "up", "type", "bridge"});
  RunOnHost({"ip", "link", "add", "uplink", "up", "type", "veth", "peer", "name", "wire"});
  RunOnHost({"ip", "link", "set", "wire", "up"});
  config_ = test::WithEverything({.ovsdb_connection = ovs_->remote(), .link_iface = "uplink"});
  if (make_devices != nullptr) {
    devices_ = make_devices(*ovs_, pods);
    devices_->Configure(config_);
  }
  binding_.emplace(config_);
}

BenchNode::~BenchNode() {
  ovs_.reset();
  devices_.reset();
  NetnsTest::TearDown();
}

BenchPod BenchNode::Make(MakeVif make_vif) {
  const int n = ++pods_;
  const std::string path = MakePodNetnsPath();
  const std::string id = std::to_string(n);
  vif::Vif vif = make_vif();
  vif::VifBase& common = vif::Common(vif);
  common.address->bytes[4] = static_cast<uint8_t>(n >> 8);
  common.address->bytes[5] = static_cast<uint8_t>(n);
  common.port_profile.reset();
  common.id = std::string(8 - id.size(), '0') + id + "-0000-4000-8000-000000000000";
  std::visit(Names{.id = id, .n = n}, vif);
  if (devices_) devices_->Assign(vif, n);
  Planned planned = binding_->Plan({"eth0", true, vif});
  Netns netns = Netns::Open(path);
  Attachment attachment{.network = "kuryr",
                        .container_id = "container-" + id,
                        .ifname = "eth0",
                        .pod = "default/pod-" + id,
                        .pod_uid = "uid-" + id,
                        .netns = path,
                        .netns_id = netns.id()};
  return {std::move(attachment), std::move(netns), std::move(vif), std::move(planned)};
}

}  // namespace kuryr::binding
