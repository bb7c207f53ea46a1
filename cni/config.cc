#include "cni/config.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "base/error.h"
#include "base/names.h"
#include "cni/config_file.h"
#include "cni/protocol/error.h"
#include "watcher/api_root.h"
#include "watcher/kubeconfig.h"

namespace kuryr::cni {
namespace {

constexpr const char* kKubernetes = "kubernetes";
constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

Option Variable(const GetEnv& getenv, const char* name) {
  const char* value = getenv(name);
  return {name, value == nullptr ? std::nullopt : std::optional<std::string>(value)};
}

/// Kuryr's order: K8S_API, the cluster's own service.
Option EnvironmentsApiRoot(const GetEnv& getenv) {
  Option root = Variable(getenv, "K8S_API");
  if (root.set()) return root;
  const Option host = Variable(getenv, "KUBERNETES_SERVICE_HOST");
  Option port = Variable(getenv, "KUBERNETES_SERVICE_PORT_HTTPS");
  if (!port.set()) port = Variable(getenv, "KUBERNETES_SERVICE_PORT");
  if (!host.set() || !port.set()) return {};
  const bool ipv6 = host.value->find(':') != std::string::npos;
  return {host.where,
          "https://" + (ipv6 ? "[" + *host.value + "]" : *host.value) + ":" + *port.value};
}

/// Replaces all of what a kubeconfig said.
void TakePem(const Option& option, watcher::Secret& target) {
  if (!option.set()) return;
  watcher::Secret file;
  TakeFile(option, file.file);
  target = file;
}

/// What a pod has mounted, for what the files say nothing of.
void TakeServiceAccount(const ConfigFiles& files, watcher::ApiConfig& api) {
  const auto take = [&](const char* option, const char* name, watcher::Secret& target) {
    const std::string file = std::string(kServiceAccount) + name;
    if (!files.Find(kKubernetes, option).value && ::access(file.c_str(), R_OK) == 0)
      target = {.file = file};
  };
  take("ssl_ca_crt_file", "ca.crt", api.ca);
  if (!files.Find(kKubernetes, "ssl_client_crt_file").set()) take("token_file", "token", api.token);
}

/// The user is one thing: an identity in kuryr.conf takes the place of all of the kubeconfig's.
watcher::ApiConfig ReadKubeconfig(const Option& kubeconfig, const ConfigFiles& files) {
  const bool has_identity = files.Find(kKubernetes, "token_file").set() ||
                            files.Find(kKubernetes, "ssl_client_crt_file").set();
  try {
    return has_identity ? watcher::LoadKubeconfigCluster(*kubeconfig.value)
                        : watcher::LoadKubeconfig(*kubeconfig.value);
  } catch (const ParseError& e) {
    Refuse(kubeconfig.where, e.what());
  }
}

/// Where the API server is, and who we are without kuryr.conf saying so.
void TakeServer(const ConfigFiles& files, const GetEnv& getenv, Config& config) {
  Option root = files.Find(kKubernetes, "api_root");
  Option kubeconfig = files.Find(kKubernetes, "kubeconfig");
  if (!root.set() && !kubeconfig.set()) {
    root = EnvironmentsApiRoot(getenv);
    if (!root.set()) kubeconfig = Variable(getenv, "KUBECONFIG");
  }
  if (kubeconfig.set()) {
    config.api = ReadKubeconfig(kubeconfig, files);
    if (!config.api.verify_server)
      config.unverified_by = kubeconfig.where + " " + *kubeconfig.value;
  } else {
    TakeServiceAccount(files, config.api);
  }
  if (!root.set()) return;
  config.api.api_root = *root.value;
  try {
    (void)watcher::ApiRoot::Parse(config.api.api_root);
  } catch (const ParseError& e) {
    Refuse(root.where, e.reason());
  }
}

void TakeVifSource(const Option& option, VifSource& source) {
  if (!option.set()) return;
  if (*option.value == "annotation") {
    source = VifSource::kAnnotation;
  } else if (*option.value == "kuryrport") {
    source = VifSource::kKuryrPort;
  } else if (*option.value != "any") {
    Refuse(option.where,
           "\"" + Printable(*option.value) + "\"; expected any, annotation or kuryrport");
  }
}

void TakeKubernetes(const ConfigFiles& files, const GetEnv& getenv, Config& config) {
  TakeServer(files, getenv, config);
  watcher::ApiConfig& api = config.api;
  TakePem(files.Find(kKubernetes, "token_file"), api.token);
  TakePem(files.Find(kKubernetes, "ssl_ca_crt_file"), api.ca);
  TakePem(files.Find(kKubernetes, "ssl_client_crt_file"), api.client_cert);
  TakePem(files.Find(kKubernetes, "ssl_client_key_file"), api.client_key);
  // As in Kuryr; a kubeconfig's user may have both.
  if (files.Find(kKubernetes, "token_file").set()) api.client_cert = api.client_key = {};
  const Option verify = files.Find(kKubernetes, "ssl_verify_server_crt");
  Take(verify, api.verify_server);
  if (verify.value) config.unverified_by = api.verify_server ? "" : verify.where;
  config.use_events = true;
  Take(files.Find(kKubernetes, "use_events"), config.use_events);
  Take(files.Find(kKubernetes, "network_status"), config.network_status);
  TakeVifSource(files.Find(kKubernetes, "vif_source"), config.vif_source);
  Take(files.Find(kKubernetes, "watch_retry_timeout"), api.retry_timeout, 3600);
  Take(files.Find(kKubernetes, "watch_connection_timeout"), api.connect_timeout, 3600);
  Take(files.Find(kKubernetes, "watch_read_timeout"), api.read_timeout, 3600);
}

void TakeBinding(const ConfigFiles& files, binding::BindingConfig& binding) {
  constexpr uint32_t kMaxMtu = 65535;
  Take(files.Find("os_vif_ovs", "ovsdb_connection"), binding.ovsdb_connection);
  TakeFile(files.Find("os_vif_ovs", "ssl_key_file"), binding.ssl_key_file);
  TakeFile(files.Find("os_vif_ovs", "ssl_cert_file"), binding.ssl_cert_file);
  TakeFile(files.Find("os_vif_ovs", "ssl_ca_cert_file"), binding.ssl_ca_cert_file);
  Take(files.Find("os_vif_ovs", "ovs_vsctl_timeout"), binding.ovs_timeout, 3600);
  Take(files.Find("os_vif_ovs", "datapath_type"), binding.datapath_type);
  Take(files.Find("os_vif_ovs", "isolate_vif"), binding.isolate_vif);
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
  Take(files.Find("neutron_defaults", "network_device_mtu"), binding.network_device_mtu, 0,
       kMaxMtu);
  Take(files.Find("binding", "drivers"), binding.drivers);
  Take(files.Find("binding", "bridges"), binding.bridges);
  const Option link_iface = files.Find("binding", "link_iface");
  Take(link_iface, binding.link_iface);
  if (!binding.link_iface.empty() && !IsLinkName(binding.link_iface)) {
    Refuse(link_iface.where, "\"" + Printable(binding.link_iface) + "\" is no interface name (" +
                                 kLinkNameRule + ")");
  }
}

/// As the kubelet names its node after it: in lower case.
std::string HostName() {
  std::array<char, 256> buffer{};
  if (::gethostname(buffer.data(), buffer.size() - 1) != 0) ThrowErrno("ask for the host's name");
  std::string name = buffer.data();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return name;
}

UseAgent ParseUseAgent(const Option& option) {
  if (!option.set() || *option.value == "auto") return UseAgent::kAuto;
  bool use = false;
  try {
    Take(option, use);
  } catch (const CniError&) {
    Refuse(option.where, "\"" + Printable(*option.value) + "\"; expected auto, true or false");
  }
  return use ? UseAgent::kAlways : UseAgent::kNever;
}

/// The original listened at a TCP address, which any pod of the host's network could reach: one in
/// a file that served it is passed over.
void TakeSocket(const Option& option, std::string& target) {
  constexpr std::string_view kUnix = "unix:";
  if (!option.set() || option.value->rfind(kUnix, 0) != 0) return;
  target = option.value->substr(kUnix.size());
  if (target.empty() || target.front() != '/')
    Refuse(option.where, "\"" + Printable(*option.value) + "\" is no unix:/PATH");
}

void TakeDaemon(const ConfigFiles& files, const GetEnv& getenv, Config& config) {
  constexpr uint32_t kMostCalls = 65536;
  constexpr uint32_t kMostPort = 65535;
  Take(files.Find("cni_daemon", "state_dir"), config.state_dir);
  Take(files.Find("cni_daemon", "vif_annotation_timeout"), config.vif_annotation_timeout, 3600);
  config.use_agent = ParseUseAgent(files.Find("cni_daemon", "daemon_enabled"));
  TakeSocket(files.Find("cni_daemon", "bind_address"), config.agent_socket);
  Take(files.Find("cni_daemon", "agent_wait"), config.agent_wait, 3600, 0);
  Take(files.Find("cni_daemon", "max_calls"), config.max_calls, 1, kMostCalls);
  Take(files.Find("cni_health_server", "bind_address"), config.health_address);
  Take(files.Find("cni_health_server", "port"), config.health_port, 0, kMostPort);
  Option node = files.Find(kKubernetes, "node_name");
  if (!node.set()) node = Variable(getenv, "KUBERNETES_NODE_NAME");
  Take(node, config.node_name);
  if (!config.node_name.empty() && !IsDnsName(config.node_name))
    Refuse(node.where, "\"" + Printable(config.node_name) + "\" is no node's name (a DNS name)");
  if (config.node_name.empty()) config.node_name = HostName();
}

ConfigFiles Open(std::vector<std::string> names) {
  if (names.empty() && ::access(kDefaultConfigFile, F_OK) == 0)
    names.emplace_back(kDefaultConfigFile);
  return ConfigFiles(names);
}

}  // namespace

Config LoadConfig(std::vector<std::string> names, const GetEnv& getenv, ConfigScope scope) {
  const ConfigFiles files = Open(std::move(names));
  Config config;
  Take(files.Find("DEFAULT", "debug"), config.debug);
  Take(files.Find("DEFAULT", "log_file"), config.log_file);
  if (scope == ConfigScope::kAll) TakeKubernetes(files, getenv, config);
  TakeBinding(files, config.binding);
  Take(files.Find("neutron_defaults", "ovs_bridge"), config.ovs_bridge);
  TakeDaemon(files, getenv, config);
  return config;
}

std::string LoadAgentSocket(std::vector<std::string> names) {
  std::string socket = Config().agent_socket;
  TakeSocket(Open(std::move(names)).Find("cni_daemon", "bind_address"), socket);
  return socket;
}

}  // namespace kuryr::cni
