#include "cni/config.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/names.h"
#include "cni/attachments/process.h"
#include "cni/protocol/error.h"
#include "config/config_file.h"
#include "config/pool_link.h"
#include "watcher/api_options.h"

namespace kuryr::cni {
namespace {

constexpr const char* kKubernetes = "kubernetes";

/// The option's value is one of the names in `choices`, which `expected` lists.
template <typename Value>
void TakeOneOf(const Option& option, const std::map<std::string, Value>& choices,
               const char* expected, Value& value) {
  if (!option.set()) return;
  const auto found = choices.find(*option.value);
  if (found == choices.end())
    Refuse(option.where, "\"" + Printable(*option.value) + "\"; expected " + expected);
  value = found->second;
}

void TakeKubernetes(const ConfigFiles& files, const GetEnv& getenv, Config& config) {
  watcher::ApiOptions options = watcher::ReadApiOptions(files, getenv);
  config.api = std::move(options.api);
  config.unverified_by = std::move(options.unverified_by);
  config.reports.use_events = true;
  Take(files.Find(kKubernetes, "use_events"), config.reports.use_events);
  Take(files.Find(kKubernetes, "network_status"), config.reports.network_status);
  TakeOneOf(files.Find(kKubernetes, "vif_source"),
            {{"any", VifSource::kAny},
             {"annotation", VifSource::kAnnotation},
             {"kuryrport", VifSource::kKuryrPort}},
            "any, annotation or kuryrport", config.vif_source);
  config.binding.trusts_plans = config.vif_source == VifSource::kKuryrPort;
}

/// Adds the names that the pool's VIFs have when kuryr-controller reads the same file. A malformed
/// pool adds none: kuryr-controller does not start with it.
void TakePool(const ConfigFiles& files, const std::string& section,
              binding::NamedElsewhere& named) {
  PoolLink link;
  try {
    link = ReadPoolLink(files, section);
  } catch (const ConfigError&) {
    return;
  }
  switch (link.kind) {
    case VifKind::kOvs:
      named.drivers.emplace_back("ovs");
      named.ovs_bridges.push_back(link.bridge);
      break;
    case VifKind::kBridge:
      named.drivers.emplace_back("bridge");
      named.kernel_bridges.push_back(link.bridge);
      if (!link.bridge_interface.empty()) named.uplinks.push_back(link.bridge_interface);
      break;
    case VifKind::kMacvlan:
    case VifKind::kVlan:
      named.drivers.emplace_back("nested");
      break;
  }
}

void TakePools(const ConfigFiles& files, binding::NamedElsewhere& named) {
  for (const std::string& section : files.SectionsOf("pool:")) TakePool(files, section, named);
}

std::optional<bool> TakeUnlessAuto(const Option& option) {
  if (!option.set() || *option.value == "auto") return std::nullopt;
  bool value = false;
  try {
    Take(option, value);
  } catch (const ConfigError&) {
    Refuse(option.where, "\"" + Printable(*option.value) + "\"; expected auto, true or false");
  }
  return value;
}

void TakeBinding(const ConfigFiles& files, binding::BindingConfig& binding) {
  constexpr uint32_t kMaxMtu = 65535;
  Take(files.Find("os_vif_ovs", "ovsdb_connection"), binding.ovsdb_connection);
  TakeFile(files.Find("os_vif_ovs", "ssl_key_file"), binding.ssl_key_file);
  TakeFile(files.Find("os_vif_ovs", "ssl_cert_file"), binding.ssl_cert_file);
  TakeFile(files.Find("os_vif_ovs", "ssl_ca_cert_file"), binding.ssl_ca_cert_file);
  Take(files.Find("os_vif_ovs", "ovsdb_wait"), binding.ovsdb_wait, 3600, 0);
  Take(files.Find("os_vif_ovs", "ovs_vsctl_timeout"), binding.ovs_timeout, 3600);
  Take(files.Find("os_vif_ovs", "datapath_type"), binding.datapath_type);
  Take(files.Find("os_vif_ovs", "isolate_vif"), binding.isolate_vif);
  Take(files.Find("os_vif_ovs", "port_security"), binding.port_security);
  using binding::WaitForWiring;
  TakeOneOf(files.Find("os_vif_ovs", "wait_for_wiring"),
            {{"auto", WaitForWiring::kAuto},
             {"ovn", WaitForWiring::kOvn},
             {"neutron", WaitForWiring::kNeutron},
             {"off", WaitForWiring::kOff}},
            "auto, ovn, neutron or off", binding.wait_for_wiring);
  Take(files.Find("os_vif_ovs", "default_qos_type"), binding.default_qos_type);
  Take(files.Find("vhostuser", "mount_point"), binding.vhostuser_mount_point);
  Take(files.Find("vhostuser", "ovs_vhu_path"), binding.ovs_vhu_path);
  const Option dpdk_driver = files.Find("nested_dpdk", "dpdk_driver");
  if (dpdk_driver.set()) Take(dpdk_driver, binding.dpdk_driver);
  if (binding.dpdk_driver.find('/') != std::string::npos) {
    Refuse(dpdk_driver.where,
           "\"" + Printable(binding.dpdk_driver) + "\" is no name of a driver (modprobe -n)");
  }
  Take(files.Find("nested_dpdk", "pci_mount_point"), binding.pci_mount_point);
  Take(files.Find("devices", "sysfs"), binding.sysfs);
  Take(files.Find("neutron_defaults", "network_device_mtu"), binding.network_device_mtu, 0,
       kMaxMtu);
  Take(files.Find("binding", "drivers"), binding.drivers);
  Take(files.Find("binding", "bridges"), binding.bridges);
  Take(files.Find("binding", "host_interfaces"), binding.host_interfaces);
  Take(files.Find("neutron_defaults", "ovs_bridge"), binding.ovs_bridge);
  TakePools(files, binding.named);
  const Option link_iface = files.Find("binding", "link_iface");
  Take(link_iface, binding.link_iface);
  if (!binding.link_iface.empty() && !IsLinkName(binding.link_iface)) {
    Refuse(link_iface.where, "\"" + Printable(binding.link_iface) + "\" is no interface name (" +
                                 kLinkNameRule + ")");
  }
}

void TakeResources(const ConfigFiles& files, DeviceConfig& devices) {
  std::string prefix = "intel.com";
  Take(files.Find("sriov", "device_plugin_resource_prefix"), prefix);
  if (!prefix.empty()) prefix += '/';
  TakePairs(files.Find("sriov", "physnet_resource_mappings"), "PHYSNET:RESOURCE",
            devices.resources);
  for (auto& [physnet, name] : devices.resources) {
    if (name.find('/') == std::string::npos) name.insert(0, prefix);
  }
}

void TakeDevices(const ConfigFiles& files, DeviceConfig& devices) {
  Take(files.Find("sriov", "kubelet_root_dir"), devices.kubelet_dir);
  Take(files.Find("devices", "kubelet_dir"), devices.kubelet_dir);
  TakeResources(files, devices);
}

/// The host's name in lower case, as the kubelet names its node.
std::string HostName() {
  std::array<char, 256> buffer{};
  if (::gethostname(buffer.data(), buffer.size() - 1) != 0) ThrowErrno("ask for the host's name");
  std::string name = buffer.data();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return name;
}

UseAgent ParseUseAgent(const Option& option) {
  const std::optional<bool> use = TakeUnlessAuto(option);
  if (!use) return UseAgent::kAuto;
  return *use ? UseAgent::kAlways : UseAgent::kNever;
}

bool IsHostAndPort(const std::string& text) {
  const size_t colon = text.rfind(':');
  return colon != std::string::npos && text.find('/') == std::string::npos &&
         colon + 1 < text.size() &&
         text.find_first_not_of("0123456789", colon + 1) == std::string::npos;
}

/// Takes unix:/PATH. Returns false for HOST:PORT, where kuryr-kubernetes listened: any pod in the
/// host's network could reach that. Its users keep their file.
bool TakeSocket(const Option& option, std::string& target) {
  constexpr std::string_view kUnix = "unix:/";
  if (!option.set()) return true;
  if (option.value->starts_with(kUnix)) {
    target = option.value->substr(kUnix.size() - 1);
    return true;
  }
  if (!IsHostAndPort(*option.value))
    Refuse(option.where, "\"" + Printable(*option.value) + "\" is no unix:/PATH");
  return false;
}

void TakeRepair(const Option& option, RepairMode& repair) {
  if (!option.set()) return;
  if (*option.value == "on") {
    repair = RepairMode::kOn;
  } else if (*option.value == "report") {
    repair = RepairMode::kReport;
  } else if (*option.value == "off") {
    repair = RepairMode::kOff;
  } else {
    Refuse(option.where, "\"" + Printable(*option.value) + "\"; expected on, report or off");
  }
}

void TakeChassis(const ConfigFiles& files, binding::ChassisOptions& chassis) {
  const Option manage = files.Find("ovn", "manage_node");
  Take(manage, chassis.is_managed);
  Take(files.Find("ovn", "sb_connection"), chassis.sb_connection);
  const Option cluster = files.Find("ovn", "cluster");
  if (cluster.set()) Take(cluster, chassis.cluster);
  if (!IsDnsName(chassis.cluster))
    Refuse(cluster.where, "\"" + Printable(chassis.cluster) + "\" is no DNS name");
  Take(files.Find("ovn", "issue_certificates"), chassis.issues_certificates);
  Take(files.Find("ovn", "node_authority"), chassis.node_authority);
  if (chassis.is_managed && chassis.sb_connection.empty())
    Refuse(manage.where, "needs sb_connection, of OVN's southbound database");
}

void TakeDaemon(const ConfigFiles& files, const GetEnv& getenv, Config& config) {
  constexpr uint32_t kMostCalls = 65536;
  Take(files.Find("cni_daemon", "state_dir"), config.state_dir);
  // Notes on a VF's earlier state are void after a boot.
  config.binding.vf_folder = config.state_dir / "vfs" / BootId();
  Take(files.Find("cni_daemon", "vif_annotation_timeout"), config.vif_annotation_timeout, 3600);
  config.use_agent = ParseUseAgent(files.Find("cni_daemon", "daemon_enabled"));
  const Option socket = files.Find("cni_daemon", "bind_address");
  if (!TakeSocket(socket, config.agent_socket)) config.ignored_address = socket.where;
  Take(files.Find("cni_daemon", "agent_wait"), config.agent_wait, 3600, 0);
  Take(files.Find("cni_daemon", "orphan_grace"), config.orphan_grace, 86400, 0);
  TakeRepair(files.Find("cni_daemon", "repair"), config.repair);
  config.node_network = ReadNodeNetwork(files);
  TakeChassis(files, config.chassis);
  Take(files.Find("cni_daemon", "max_calls"), config.max_calls, 1, kMostCalls);
  Take(files,
       {.address = files.Find("cni_health_server", "bind_address"),
        .port = files.Find("cni_health_server", "port")},
       config.program);
  Option node = files.Find(kKubernetes, "node_name");
  if (!node.set()) node = Variable(getenv, "KUBERNETES_NODE_NAME");
  Take(node, config.node_name);
  if (!config.node_name.empty() && !IsDnsName(config.node_name))
    Refuse(node.where, "\"" + Printable(config.node_name) + "\" is no node's name (a DNS name)");
  if (config.node_name.empty()) config.node_name = HostName();
}

Config Read(const ConfigFiles& files, const GetEnv& getenv, ConfigScope scope) {
  Config config;
  if (scope == ConfigScope::kAll) TakeKubernetes(files, getenv, config);
  TakeBinding(files, config.binding);
  config.transient_ports = TakeUnlessAuto(files.Find("os_vif_ovs", "transient_ports"));
  config.binding.transient_ports = config.transient_ports.value_or(true);
  TakeDevices(files, config.devices);
  Take(files.Find("ovs_cni", "cache_dir"), config.ovs_cni_cache_dir);
  TakeDaemon(files, getenv, config);
  return config;
}

/// Calls `read`, and throws CniError 7 in place of ConfigError.
template <typename Reader>
auto WithCniErrors(const Reader& read) {
  try {
    return read();
  } catch (const ConfigError& e) {
    throw CniError(ErrorCode::kInvalidConfig, e.what());
  }
}

}  // namespace

ConfigFiles ReadConfigFiles(std::vector<std::string> names) {
  return WithCniErrors([&] { return ConfigFiles(std::move(names)); });
}

Config LoadConfig(std::vector<std::string> names, const GetEnv& getenv, ConfigScope scope) {
  return LoadConfig(ReadConfigFiles(std::move(names)), getenv, scope);
}

Config LoadConfig(const ConfigFiles& files, const GetEnv& getenv, ConfigScope scope) {
  return WithCniErrors([&] { return Read(files, getenv, scope); });
}

std::string LoadAgentSocket(std::vector<std::string> names) {
  return WithCniErrors([&] {
    std::string socket = Config().agent_socket;
    TakeSocket(ConfigFiles(std::move(names)).Find("cni_daemon", "bind_address"), socket);
    return socket;
  });
}

}  // namespace kuryr::cni
