#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/program_options.h"
#include "binding/config.h"
#include "cni/pod/known_pod.h"
#include "watcher/api_config.h"

namespace kuryr::cni {

/// Whether requests go to the node's agent: kAuto if its socket is there.
enum class UseAgent { kAuto, kAlways, kNever };

/// What the agent does where a running pod's attachment differs from its plan.
enum class RepairMode { kOff, kReport, kOn };

/// What kuryr.conf says of devices that the kubelet gives to pods.
struct DeviceConfig {
  std::filesystem::path kubelet_dir = "/var/lib/kubelet";  ///< [devices] kubelet_dir
  /// [sriov] physnet_resource_mappings: the kubelet's resource ("intel.com/sriov") by physnet.
  std::map<std::string, std::string> resources;
};

/// What kuryr.conf says, with the original's section and option names; docs/configuration.md has
/// the table.
struct Config {
  watcher::ApiConfig api;  ///< [kubernetes]
  /// Which option or kubeconfig switched off the verification of the API server's certificate.
  std::string unverified_by;
  /// [kubernetes] use_events, network_status; where that section is not read, nothing is told.
  bool use_events = false;
  bool network_status = false;
  VifSource vif_source = VifSource::kAny;  ///< [kubernetes] vif_source
  binding::BindingConfig binding;          ///< [binding], [os_vif_ovs], [neutron_defaults]
  /// [os_vif_ovs] transient_ports; unset: true, but not where an agent removes what a reboot
  /// leaves.
  std::optional<bool> transient_ports;
  /// [ovs_cni] cache_dir: where ovs-cni keeps what it plugged.
  std::filesystem::path ovs_cni_cache_dir = "/tmp/ovscache";
  DeviceConfig devices;                             ///< [devices], [sriov]
  std::filesystem::path state_dir = "/run/kuryr";   ///< [cni_daemon] state_dir
  std::chrono::seconds vif_annotation_timeout{60};  ///< [cni_daemon] vif_annotation_timeout
  UseAgent use_agent = UseAgent::kAuto;             ///< [cni_daemon] daemon_enabled
  /// [cni_daemon] bind_address, without "unix:".
  std::string agent_socket = "/run/kuryr/kuryr-daemon.sock";
  /// [cni_daemon] agent_wait: for an agent that is down, by an ADD; zero: not at all.
  std::chrono::seconds agent_wait{10};
  /// [cni_daemon] orphan_grace: of a port without record and pod; zero: it stays.
  std::chrono::seconds orphan_grace{60};
  RepairMode repair = RepairMode::kOn;          ///< [cni_daemon] repair
  ProgramOptions program{.health_port = 8090};  ///< [cni_health_server], [DEFAULT]
  uint32_t max_calls = 512;  ///< [cni_daemon] max_calls: those that the agent serves at a time
  /// [kubernetes] node_name, else KUBERNETES_NODE_NAME, else the host's name, which may be no DNS
  /// name.
  std::string node_name;
};

/// What is read: a DEL needs no API server, and nothing said of one may stop it.
enum class ConfigScope { kAll, kWithoutKubernetes };

/// Reads the files in order, a later one winning; with none named, the default file if it is there.
/// Options not set have defaults. The API server is ReadApiOptions'. Throws CniError 7 that names
/// file, section and option.
[[nodiscard]] Config LoadConfig(std::vector<std::string> files, const GetEnv& getenv,
                                ConfigScope scope = ConfigScope::kAll);

/// Config::agent_socket alone, of the same files: nothing else that stands there keeps anybody from
/// asking the agent. Throws CniError 7.
[[nodiscard]] std::string LoadAgentSocket(std::vector<std::string> files);

}  // namespace kuryr::cni
