#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "certificates/file_set.h"
#include "cni/config.h"
#include "cni/node_context.h"
#include "service/chore.h"
#include "service/metrics_text.h"
#include "watcher/api_client.h"

namespace kuryr::cni {

/// Keeps the key with which the node's ovn-controller comes to OVN's southbound database, in
/// [cni_daemon] state_dir, and asks kuryr-controller for its certificate by a
/// CertificateSigningRequest (k8s.io/api certificates/v1). The common name is the node's chassis. A
/// key is replaced when two thirds of its life are over, or when its authority is not the cluster's
/// any more. A request that nobody answers is awaited again, and replaced after an hour. A thread
/// does so from Start on, with [ovn] issue_certificates. Thread-safe.
class NodeCertificate {
 public:
  /// Everything is borrowed.
  NodeCertificate(const NodeContext& node, const Config& config);
  NodeCertificate(const NodeCertificate&) = delete;
  NodeCertificate& operator=(const NodeCertificate&) = delete;
  ~NodeCertificate() { client_.Stop(); }

  void Start();
  void WriteTo(service::MetricsText& text) const;

 private:
  using Time = std::chrono::system_clock::time_point;
  /// A request at the API server, and its key.
  struct Pending {
    std::string chassis;
    std::string key;
    std::string name;
    Time until;  ///< then another one takes its place
  };

  void Keep(service::Chore& chore);
  /// Whether the files' key is this chassis', and not due.
  [[nodiscard]] bool IsGood(const std::string& chassis) const;
  void Renew(const std::string& chassis);
  [[nodiscard]] Pending Ask(const std::string& chassis);
  /// The certificate that the request of this name gets. Throws std::runtime_error where it gets
  /// none in time.
  [[nodiscard]] std::string Await(const std::string& name);

  const NodeContext& node_;
  const Config& config_;
  const certificates::FileSet files_;
  watcher::ApiClient client_;
  std::optional<Pending> pending_;       ///< of the chore's thread
  std::atomic<Time> due_ = Time::max();  ///< the next key
  std::optional<service::Chore> chore_;  // last: its thread uses all of the above
};

}  // namespace kuryr::cni
