#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/kinds/watched_kind.h"

namespace kuryr::controller {

/// A CertificateSigningRequest that nobody has answered, or that is approved and has no certificate
/// yet. What the API server says of the requester is true; the request itself is not checked.
struct CertificateRequest {
  std::string name;
  std::string version;  ///< resourceVersion
  std::string user;
  std::string pod;  ///< whose token the requester has; empty: no pod's
  std::string pod_uid;
  std::string request;  ///< PEM
  bool approved = false;
};

/// The requests of nodes for the certificates of their ovn-controllers. Watched if the leader
/// issues them. Thread-safe. (k8s.io/api certificates/v1)
class CertificateRequests : public WatchedResource {
 public:
  static constexpr std::string_view kKind = "certificate";  ///< of their keys
  static constexpr const char* kSigner = "kuryr.openstack.org/ovn-controller";

  explicit CertificateRequests(const KindParts& parts)
      : WatchedResource("CertificateSigningRequest"),
        is_wanted_(parts.needs.certificates),
        wake_(parts.wake) {}

  /// The key of all that is issued without a request.
  [[nodiscard]] static Key OwnKey() { return {kKind, KeyOf("", "")}; }
  /// nullopt: there is none of this key, or it is answered.
  [[nodiscard]] std::optional<CertificateRequest> Find(const std::string& key) const
      EXCLUDES(mutex_);

  using Time = std::chrono::system_clock::time_point;
  /// The next of the leader's own keys is due then.
  void SetDue(Time due) { due_ = due; }

  [[nodiscard]] std::vector<WatchedPath> Paths() override;
  void BeginTerm(const Term& term) override EXCLUDES(mutex_);
  void WriteTo(service::MetricsText& text) const override;

 protected:
  void OnPresent(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  void OnDeleted(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

 private:
  const bool is_wanted_;
  const Wake wake_;
  std::atomic<Time> due_ = Time::max();
  mutable Mutex mutex_;
  std::map<std::string, CertificateRequest> open_ GUARDED_BY(mutex_);  ///< by key
};

}  // namespace kuryr::controller
