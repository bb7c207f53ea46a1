#include "controller/backends/ovn/ovn_options.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>

#include "base/error.h"
#include "base/names.h"
#include "certificates/file_set.h"

namespace kuryr::controller::ovn {
namespace {

/// Geneve over IPv4 leaves this much of 1500 bytes, and over IPv6 20 bytes less.
constexpr uint32_t kTunnelMtu = 1400;
constexpr std::array kSchemes = {"unix:", "tcp:", "ssl:"};

void CheckConnection(const Option& option, const OvnOptions& options) {
  std::vector<std::string> remotes;
  kuryr::Take({option.where, options.nb_connection}, remotes);
  if (remotes.empty()) Refuse(option.where, "has no server");
  for (const std::string& remote : remotes) {
    const bool is_known = std::any_of(kSchemes.begin(), kSchemes.end(), [&](const char* scheme) {
      return remote.starts_with(scheme);
    });
    if (!is_known)
      Refuse(option.where, "\"" + Printable(remote) +
                               "\"; expected unix:FILE, tcp:IP:PORT or ssl:IP:PORT, with commas "
                               "between the servers of a cluster");
  }
}

/// The leader's own files, which it writes.
void TakeIssuedFiles(const ConfigFiles& files, OvnOptions& options) {
  std::filesystem::path state = "/run/kuryr";
  kuryr::Take(files.Find("cni_daemon", "state_dir"), state);
  options.certificate_folder = state / certificates::kOvnFolder;
  options.certificate_namespace = "kube-system";
  kuryr::Take(files.Find("controller", "lease_namespace"), options.certificate_namespace);
  constexpr uint32_t kTenYears = 315'360'000;
  kuryr::Take(files.Find("ovn", "certificate_lifetime"), options.certificate_lifetime, kTenYears,
              60);
  const certificates::FileSet own(options.certificate_folder);
  options.nb_private_key = own.PathOf(certificates::kKeyFile);
  options.nb_certificate = own.PathOf(certificates::kCertificateFile);
  options.nb_ca_cert = own.PathOf(certificates::kAuthorityFile);
  for (const char* name : {"nb_private_key", "nb_certificate", "nb_ca_cert"}) {
    const Option option = files.Find("ovn", name);
    if (option.set()) Refuse(option.where, "issue_certificates makes this file: leave it out");
  }
}

void TakeTls(const ConfigFiles& files, OvnOptions& options) {
  kuryr::Take(files.Find("ovn", "issue_certificates"), options.issues_certificates);
  if (options.issues_certificates) return TakeIssuedFiles(files, options);
  TakeFile(files.Find("ovn", "nb_private_key"), options.nb_private_key);
  TakeFile(files.Find("ovn", "nb_certificate"), options.nb_certificate);
  TakeFile(files.Find("ovn", "nb_ca_cert"), options.nb_ca_cert);
  if (options.nb_connection.find("ssl:") == std::string::npos) return;
  for (const char* name : {"nb_private_key", "nb_certificate", "nb_ca_cert"}) {
    const Option option = files.Find("ovn", name);
    if (!option.set()) Refuse(option.where, "is missing: an ssl: connection needs it");
  }
}

bool ReadServices(const Option& option) {
  if (!option.set() || *option.value == "kube-proxy") return false;
  if (*option.value != "ovn")
    Refuse(option.where, "\"" + Printable(*option.value) + "\"; expected kube-proxy or ovn");
  return true;
}

void CheckPools(const ConfigFiles& files, std::vector<pools::Pool>& pools) {
  for (pools::Pool& pool : pools) {
    const std::string section = "pool:" + pool.name;
    if (pool.kind != VifKind::kOvs)
      Refuse(files.Find(section, "vif").where, "backend = ovn has pools with vif = ovs alone");
    if (pool.from_node && !pool.for_nodes)
      Refuse(files.Find(section, "from_node").where,
             "needs a gateway and [node_network] enabled = true with backend = ovn: a node's "
             "management port joins its network with the node");
    if (!pool.mtu) pool.mtu = kTunnelMtu;
  }
}

}  // namespace

OvnOptions ReadOvnOptions(const ConfigFiles& files) {
  OvnOptions options;
  options.nb_connection = "unix:/var/run/ovn/ovnnb_db.sock";
  const Option connection = files.Find("ovn", "nb_connection");
  kuryr::Take(connection, options.nb_connection);
  CheckConnection(connection, options);
  kuryr::Take(files.Find("ovn", "sb_connection"), options.sb_connection);
  TakeTls(files, options);
  const Option cluster = files.Find("ovn", "cluster");
  if (cluster.set()) kuryr::Take(cluster, options.cluster);
  if (!IsDnsName(options.cluster))
    Refuse(cluster.where, "\"" + Printable(options.cluster) + "\" is no DNS name");
  options.balances_services = ReadServices(files.Find("ovn", "services"));
  options.is_userspace = files.Find("os_vif_ovs", "datapath_type").value == "netdev";
  options.pools = pools::ReadPools(files, pools::NodeGateway::kRouter);
  CheckPools(files, options.pools);
  return options;
}

}  // namespace kuryr::controller::ovn
