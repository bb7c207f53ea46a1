#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "binding/config.h"
#include "binding/node/node_plan.h"
#include "cni/pod/pod_config.h"
#include "config/node_network_options.h"
#include "config/program_options.h"
#include "watcher/api_config.h"

namespace kuryr::cni {

/// Whether requests go to the node's agent: kAuto if its socket is there.
enum class UseAgent { kAuto, kAlways, kNever };

/// The agent's answer where a running pod's attachment differs from its plan.
enum class RepairMode { kOff, kReport, kOn };

/// The options of kuryr.conf, with the original's section and option names; docs/configuration.md
/// has the table.
struct Config {
  watcher::ApiConfig api;  ///< [kubernetes]
  /// Which option or kubeconfig switched off the verification of the API server's certificate.
  std::string unverified_by;
  ReportConfig reports;
  VifSource vif_source = VifSource::kAny;  ///< [kubernetes] vif_source
  binding::BindingConfig binding;          ///< [binding], [os_vif_ovs], [neutron_defaults]
  /// [os_vif_ovs] transient_ports; unset: true, except where an agent removes the ports that a
  /// reboot leaves.
  std::optional<bool> transient_ports;
  /// [ovs_cni] cache_dir: where ovs-cni keeps what it plugged.
  std::filesystem::path ovs_cni_cache_dir = "/tmp/ovscache";
  DeviceConfig devices;                             ///< [devices], [sriov]
  std::filesystem::path state_dir = "/run/kuryr";   ///< [cni_daemon] state_dir
  std::chrono::seconds vif_annotation_timeout{60};  ///< [cni_daemon] vif_annotation_timeout
  UseAgent use_agent = UseAgent::kAuto;             ///< [cni_daemon] daemon_enabled
  /// [cni_daemon] bind_address, without "unix:".
  std::string agent_socket = "/run/kuryr/kuryr-daemon.sock";
  /// The option's place, where it is kuryr-kubernetes' HOST:PORT; empty otherwise.
  std::string ignored_address;
  /// [cni_daemon] agent_wait: how long an ADD waits for an agent that is down.
  std::chrono::seconds agent_wait{10};
  /// [cni_daemon] orphan_grace: how long a port without record and pod stays; zero: for ever.
  std::chrono::seconds orphan_grace{60};
  RepairMode repair = RepairMode::kOn;          ///< [cni_daemon] repair
  NodeNetworkOptions node_network;              ///< [node_network]
  binding::ChassisOptions chassis;              ///< [ovn]
  ProgramOptions program{.health_port = 8090};  ///< [cni_health_server], [DEFAULT]
  uint32_t max_calls = 512;  ///< [cni_daemon] max_calls: most calls that the agent serves at a time
  /// [kubernetes] node_name, else KUBERNETES_NODE_NAME, else the host's name, which may be no DNS
  /// name.
  std::string node_name;
};

/// Which options are read. A DEL needs no API server, so no option of [kubernetes] may stop it.
enum class ConfigScope { kAll, kWithoutKubernetes };

/// Reads the files in order, a later one winning; with none named, the default file if it is there.
/// Throws CniError 7.
[[nodiscard]] ConfigFiles ReadConfigFiles(std::vector<std::string> names);

/// Options not set have defaults. ReadApiOptions reads those of the API server. Throws CniError 7
/// that names file, section and option.
[[nodiscard]] Config LoadConfig(std::vector<std::string> files, const GetEnv& getenv,
                                ConfigScope scope = ConfigScope::kAll);
[[nodiscard]] Config LoadConfig(const ConfigFiles& files, const GetEnv& getenv,
                                ConfigScope scope = ConfigScope::kAll);

/// Reads Config::agent_socket alone, so that no other option in the files can stop a question to
/// the agent. Throws CniError 7.
[[nodiscard]] std::string LoadAgentSocket(std::vector<std::string> files);

}  // namespace kuryr::cni
