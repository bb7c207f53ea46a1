#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "controller/backends/ovn/ovn_backend.h"
#include "policy/policy_compiler.h"
#include "policy/policy_verdicts.h"
#include "tests/policy/big_cluster.h"

namespace kuryr::controller::ovn {

/// The objects of a big cluster whose labels and policies change.
struct PolicedObjects {
  explicit PolicedObjects(const policy::BigCluster& size);

  policy::BigCluster size;
  std::map<std::string, size_t> apps;                  ///< by the pod's UID
  std::map<std::string, size_t> teams;                 ///< by the namespace
  std::map<std::string, std::vector<size_t>> allowed;  ///< the peer of each app, by the namespace
};

/// Pods and policies of a big cluster on OVN, as its controllers know them, one after the other.
class PolicedCluster {
 public:
  using Vifs = std::map<std::string, std::vector<vif::PodVif>>;  ///< plans, by the pod's UID

  /// The cluster, with nothing written. `remote` is the northbound database's.
  PolicedCluster(PolicedObjects objects, std::string remote);

  /// Starts a controller in place of the one that runs, if any. It knows what is written.
  void ReplaceController();
  /// Gives each pod a plan, and waits until all are written.
  void Plan();
  /// As Plan, with plans that another cluster has written.
  void Adopt(const Vifs& vifs);

  /// The pod gets the labels of another application.
  void Relabel(size_t name_space, size_t pod, size_t app);
  /// The namespace becomes another team's.
  void MoveTo(size_t name_space, size_t team);
  /// The policy of `app` allows the application `peer` from now on.
  void Allow(size_t name_space, size_t app, size_t peer);

  /// Waits until the rows of all pods are written; of those that the last change moved.
  void SettleAll();
  void SettleChanged();

  [[nodiscard]] const PolicedObjects& objects() const noexcept { return objects_; }
  [[nodiscard]] const Vifs& vifs() const noexcept { return vifs_; }
  /// The sets that the pod was in after each change, by its port's name.
  [[nodiscard]] const std::map<std::string, std::vector<std::set<policy::PodSet>>>& history()
      const {
    return history_;
  }
  /// A figure of OvnBackend::WriteTo.
  [[nodiscard]] uint64_t Figure(const std::string& name) const;

 private:
  [[nodiscard]] static Owner OwnerOf(const std::string& uid) {
    return {.id = uid, .scope = "team", .name = uid, .node = "n1"};
  }
  void Apply(const policy::PolicyChanges& changes);
  void Note(const std::string& uid);
  void Settle(const std::vector<std::string>& uids);

  PolicedObjects objects_;
  const std::string remote_;
  policy::PolicyCompiler compiler_;
  policy::PolicyVerdicts verdicts_;
  Vifs vifs_;
  std::map<std::string, std::vector<std::set<policy::PodSet>>> history_;
  std::vector<std::string> changed_;
  std::mutex mutex_;
  std::condition_variable told_;
  uint64_t tells_ = 0;
  std::unique_ptr<OvnBackend> backend_;
};

}  // namespace kuryr::controller::ovn
