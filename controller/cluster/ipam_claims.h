#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "base/thread_annotations.h"
#include "controller/backends/backend.h"
#include "controller/cluster/askers.h"
#include "controller/owners/writer.h"
#include "vif/pod_vifs.h"
#include "watcher/event_pipeline.h"

namespace kuryr::controller {

/// What an IPAMClaim has got.
struct IpamClaim {
  [[nodiscard]] std::vector<IpAddress> addresses() const;
  /// These and no others, in whatever order.
  [[nodiscard]] bool Has(std::vector<IpAddress> addresses) const;

  Owner owner;                 ///< its UID, namespace and name
  std::string version;         ///< resourceVersion
  std::vector<IpNetwork> ips;  ///< empty: nothing yet
  std::string pod;             ///< the name of the newest one that had it
  std::string problem;         ///< why its status cannot be read
};

/// The cluster's IPAMClaims (Network Plumbing Working Group, k8s.cni.cncf.io/v1alpha1): each keeps
/// the addresses that the first pod with it got, for the pods after that one. What they are is in
/// its status; the backend keeps them as long as the claim exists. Thread-safe.
class IpamClaims : public watcher::ResourceEventHandler {
 public:
  using Wake = std::function<void(const std::string& key)>;

  /// `wake` is called for who asked in vain once the answer may be another one.
  explicit IpamClaims(Wake wake) : ResourceEventHandler("IPAMClaim"), wake_(std::move(wake)) {}

  /// The backend, which is borrowed, has heard of all plans: what stands on a pod goes before what
  /// a claim says.
  void StartKeeping(Backend& backend) EXCLUDES(mutex_);
  void StopKeeping() EXCLUDES(mutex_);

  /// For `asker`. BackendError kGone where there is no such claim, kRefused where it cannot be
  /// read; then `asker` is remembered.
  [[nodiscard]] IpamClaim Find(const std::string& name_space, const std::string& name,
                               const std::string& asker) EXCLUDES(mutex_);

  /// Writes into the claim of `interface`, if it has one, what the pod is about to have. False
  /// where the claim has other addresses by now. Throws what Writer does, and kGone.
  [[nodiscard]] bool Record(const InterfaceRequest& interface, const Owner& pod,
                            const vif::PodVif& vif, Writer& writer) EXCLUDES(mutex_);

 protected:
  void OnPresent(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  void OnDeleted(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

 private:
  /// As this process has just written it; `base` is the version that it was made of.
  void Learn(nlohmann::json object, const std::string& base) EXCLUDES(mutex_);
  void Take(IpamClaim claim) REQUIRES(mutex_);
  void Keep(const IpamClaim& claim) REQUIRES(mutex_);

  const Wake wake_;
  Mutex mutex_;
  Backend* backend_ GUARDED_BY(mutex_) = nullptr;               ///< null: nothing is kept
  std::map<std::string, IpamClaim> claims_ GUARDED_BY(mutex_);  ///< by "NAMESPACE/NAME"
  Askers askers_ GUARDED_BY(mutex_);
};

/// "/apis/k8s.cni.cncf.io/v1alpha1/namespaces/default/ipamclaims"
[[nodiscard]] std::string ClaimsPath(const std::string& name_space);

}  // namespace kuryr::controller
