#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "config/config_file.h"
#include "controller/backends/pools/pool.h"

namespace kuryr::controller::ovn {

/// Section [ovn] of kuryr.conf, and the pools; docs/ovn.md has the options.
struct OvnOptions {
  std::string nb_connection;   ///< ovsdb(7), with commas between the servers of a cluster
  std::string nb_private_key;  ///< files of PEM, for ssl: connections
  std::string nb_certificate;
  std::string nb_ca_cert;
  std::string sb_connection;  ///< as nb_connection; empty: no chassis are looked after
  /// The leader issues the keys, its own among them: nb_private_key and its kin are those files.
  bool issues_certificates = false;
  std::chrono::seconds certificate_lifetime = std::chrono::days(90);
  std::string certificate_folder;     ///< of its own, a certificates::FileSet
  std::string certificate_namespace;  ///< of the objects that keep the others
  std::string cluster = "kuryr";      ///< marks the cluster's rows, and begins their names
  bool balances_services = false;     ///< OVN's load balancers, not kube-proxy, serve pods
  bool is_userspace = false;  ///< the nodes' integration bridges are Open vSwitch's in userspace
  std::vector<pools::Pool> pools;
};

/// Throws ConfigError that names file, section and option.
[[nodiscard]] OvnOptions ReadOvnOptions(const ConfigFiles& files);

}  // namespace kuryr::controller::ovn
