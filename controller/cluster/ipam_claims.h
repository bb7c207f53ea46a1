#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/thread_annotations.h"
#include "controller/cluster/askers.h"
#include "controller/kinds/watched_kind.h"
#include "controller/owners/writer.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// An IPAMClaim as its status tells.
struct IpamClaim {
  [[nodiscard]] std::vector<IpAddress> addresses() const;
  /// Whether the claim has exactly these addresses, in any order.
  [[nodiscard]] bool Has(std::vector<IpAddress> addresses) const;

  Owner owner;                 ///< its UID, namespace and name
  std::string version;         ///< resourceVersion
  std::vector<IpNetwork> ips;  ///< empty: nothing yet
  std::string pod;             ///< the name of the last pod that had it
  std::string problem;         ///< why its status cannot be read
};

/// The cluster's IPAMClaims (Network Plumbing Working Group, k8s.cni.cncf.io/v1alpha1). A claim
/// keeps the addresses of its first pod for later pods that name it. The addresses are in its
/// status; the backend keeps them as long as the claim exists. Thread-safe.
class IpamClaims : public WatchedResource {
 public:
  /// Wakes a pod that asked in vain, once the answer may differ.
  explicit IpamClaims(const KindParts& parts) : WatchedResource("IPAMClaim"), wake_(parts.wake) {}

  [[nodiscard]] std::vector<WatchedPath> Paths() override;
  /// From now on the backend keeps claims' addresses. It must know all plans: a pod's plan goes
  /// before a claim.
  void BeginTerm(const Term& term) override EXCLUDES(mutex_);
  void EndTerm() override EXCLUDES(mutex_);

  /// The claim for the pod `asker`. PlanError kGone if there is no such claim, kRefused if it
  /// cannot be read; then `asker` is remembered.
  [[nodiscard]] IpamClaim Find(const std::string& name_space, const std::string& name,
                               const Key& asker) EXCLUDES(mutex_);

  /// Writes the pod's addresses into the claim of `interface`, if it names one, before the pod gets
  /// them. False if the claim has other addresses by now. Throws the errors of Writer, and
  /// PlanError kGone.
  [[nodiscard]] bool Record(const InterfaceRequest& interface, const Owner& pod,
                            const vif::PodVif& vif, Writer& writer) EXCLUDES(mutex_);

 protected:
  void OnPresent(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  void OnDeleted(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

 private:
  /// Takes over a claim that this process has just written; `base` is the version before.
  void Learn(nlohmann::json object, const std::string& base) EXCLUDES(mutex_);
  void Take(IpamClaim claim) REQUIRES(mutex_);
  void Keep(const IpamClaim& claim) REQUIRES(mutex_);

  const Wake wake_;
  Mutex mutex_;
  Backend* backend_ GUARDED_BY(mutex_) = nullptr;               ///< null: claims keep nothing
  std::map<std::string, IpamClaim> claims_ GUARDED_BY(mutex_);  ///< by "NAMESPACE/NAME"
  Askers askers_ GUARDED_BY(mutex_);
};

/// "/apis/k8s.cni.cncf.io/v1alpha1/namespaces/default/ipamclaims"
[[nodiscard]] std::string ClaimsPath(const std::string& name_space);

}  // namespace kuryr::controller
