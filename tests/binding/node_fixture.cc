#include "tests/binding/node_fixture.h"

#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "binding/links/interfaces.h"
#include "binding/netlink/route_socket.h"
#include "binding/ovs/database.h"
#include "binding/ovs/open_vswitch.h"
#include "ovsdb/client.h"
#include "ovsdb/operation.h"
#include "tests/binding/everything.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;

void AppendLinks(const Netns& netns, const std::string& where, std::set<std::string>& state) {
  RouteSocket socket = RouteSocket::OpenIn(netns);
  for (const std::string& name : LinkNamesIn(netns)) {
    const auto link = socket.FindLink(name);
    if (!link || name == "lo") continue;
    const auto master = socket.FindLink(link->master);
    state.insert(where + " " + name + " " + link->kind + " " + link->alias + " " +
                 (master ? master->name : "") + (link->up ? " up" : " down"));
  }
}

void AppendRows(OvsdbClient& client, const std::string& table, const json& columns,
                std::set<std::string>& state) {
  const json operations = json::array({ovsdb::Select(table, ovsdb::Everywhere(), columns)});
  const json results = client.Transact(operations, Soon());
  for (const json& row : results.at(0).at("rows")) state.insert(table + " " + row.dump());
}

size_t CountEntries(const char* folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                           std::filesystem::directory_iterator()));
}

}  // namespace

void NodeTest::SetUp() {
  NetnsTest::SetUp();
  ovs_.emplace("/run");
  MakeOvsBridge();
  MakeKernelBridge();
  MakeUplink();
  Renew(Config());
}

void NodeTest::Renew(const BindingConfig& config) {
  config_ = config;
  binding_.emplace(config_);
}

void NodeTest::TearDown() {
  ovs_.reset();
  NetnsTest::TearDown();
}

BindingConfig NodeTest::Config() const {
  return test::WithEverything(
      {.ovsdb_connection = ovs_->remote(), .datapath_type = test::PrivateOvs::datapath_type()});
}

void NodeTest::MakeUplink() {
  fabric_.emplace(MakePodNetns());
  RouteSocket().CreateVeth(
      {.name = "uplink", .peer_name = "fabric", .peer_netns_fd = fabric_->fd()});
  RunOnHost({"ip", "link", "set", "uplink", "up"});
  RunIn(*fabric_, {"ip", "link", "set", "fabric", "up"});
  RunIn(*fabric_, {"ip", "address", "add", "10.1.0.254/24", "dev", "fabric"});
  RunOnHost({"ip", "address", "add", "10.1.0.253/24", "dev", "uplink"});
  RunOnHost({"ip", "route", "add", "default", "via", "10.1.0.254"});
}

NodeTest::Pod NodeTest::MakePod(const PlugScenario& scenario, int n) {
  const std::string path = MakePodNetnsPath();
  Pod pod{.vif = scenario.vif(n), .attachment = PodAttachment(n), .netns = Netns::Open(path)};
  pod.attachment.netns = path;
  pod.attachment.netns_id = pod.netns.id();
  pod.planned = binding_->Plan({"eth0", true, pod.vif});
  return pod;
}

void NodeTest::Connect(const Pod& pod, const Deadline& deadline) {
  binding_->Connect({pod.planned, pod.attachment, pod.netns, deadline});
}

void NodeTest::Disconnect(const Pod& pod) {
  binding_->Disconnect({pod.planned.plug}, pod.attachment, Soon());
}

void NodeTest::Ping(const Pod& pod, const std::string& address) {
  RunIn(pod.netns, {"ping", "-c1", "-w20", address});
}

void NodeTest::MakeOvsBridge() {
  ovs_->Vsctl({"add-br", "br-int", "--", "set", "Bridge", "br-int",
               "datapath_type=" + test::PrivateOvs::datapath_type()});
}

void NodeTest::RemoveOvsBridge() { ovs_->Vsctl({"--if-exists", "del-br", "br-int"}); }

void NodeTest::MakeKernelBridge() {
  RouteSocket host;
  if (host.CreateBridgeDown("br-lan", {})) host.SetUp(host.FindLink("br-lan").value());
}

void NodeTest::MoveFabricToVlan(int id) {
  RunIn(*fabric_, {"ip", "address", "flush", "dev", "fabric"});
  RunIn(*fabric_, {"ip", "link", "add", "tagged", "link", "fabric", "up", "type", "vlan", "id",
                   std::to_string(id)});
  RunIn(*fabric_, {"ip", "address", "add", "10.1.0.254/24", "dev", "tagged"});
}

std::set<std::string> NodeTest::State(const std::vector<const Netns*>& pods) const {
  OpenVSwitch(ovs_->remote()).WaitUntilApplied(Soon());
  std::set<std::string> state;
  AppendLinks(Netns::Current(), "host", state);
  for (const Netns* pod : pods) AppendLinks(*pod, std::to_string(pod->id().inode), state);
  OvsdbClient client(kOpenVSwitchDatabase, ovs_->remote());
  AppendRows(client, "Bridge", {"_uuid", "name", "ports"}, state);
  AppendRows(client, "Port", {"_uuid", "name"}, state);
  AppendRows(client, "Interface", {"_uuid", "name", "external_ids"}, state);
  AppendRows(client, "QoS", {"_uuid", "external_ids"}, state);
  return state;
}

size_t NodeTest::CountOpenFiles() {
  Renew();
  return CountEntries("/proc/self/fd");
}

size_t NodeTest::CountPodNetns() { return CountEntries("/run/netns"); }

}  // namespace kuryr::binding
