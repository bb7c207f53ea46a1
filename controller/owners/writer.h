#pragma once

#include <exception>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "controller/owners/pod_facts.h"
#include "controller/owners/pod_store.h"
#include "vif/pod_vifs.h"
#include "watcher/api_client.h"
#include "watcher/event_parser.h"

namespace kuryr::controller {

/// This process leads no more, and may not write.
class NotLeading : public std::runtime_error {
 public:
  NotLeading() : std::runtime_error("another kuryr-controller leads, or may soon") {}
};

/// A leader's writes to the API server. Each request is made only while `may_write` says yes.
/// Throws NotLeading and what ApiClient does. Not thread-safe.
class Writer {
 public:
  using MayWrite = std::function<bool()>;

  /// The clients and the store, which learns of what was written, are borrowed. `beside`: sends
  /// what need not wait for the client; without it, one request follows the other.
  Writer(watcher::ApiClient& client, PodStore& store, MayWrite may_write,
         watcher::ApiClient* beside = nullptr)
      : client_(client), beside_(beside), store_(store), may_write_(std::move(may_write)) {}

  void CreateEvent(const std::string& name_space, const nlohmann::json& event);
  /// Makes a KuryrPort. A definition with a status subresource takes the status by a request of
  /// its own. PlanError kRetry if there is no definition. A KuryrPort that exists already is a
  /// conflict (409), and the store learns it.
  void CreatePort(const PodFacts& pod, const nlohmann::json& port);
  /// As PatchPod and CreatePort, at the same time. Where only one of them succeeds, what it wrote
  /// stays: no node uses the KuryrPort before its pod is held.
  void HoldAndCreatePort(const PodFacts& pod, nlohmann::json metadata, const nlohmann::json& port);
  /// `metadata` gets the pod's uid and resourceVersion as preconditions: a pod that has changed
  /// since is a conflict (409). `vifs`: those that its annotation says, if it has one. The API
  /// server notes kPlanner as the manager of what it changes.
  void PatchPod(const PodFacts& pod, nlohmann::json metadata,
                const std::vector<vif::PodVif>& vifs = {});
  /// Merges annotations into the Node of this name, if it still has this uid.
  void AnnotateNode(const Owner& node, const nlohmann::json& annotations);
  /// A KuryrPort as it was known or made.
  struct PortVersion {
    std::string uid;
    std::string version;  ///< resourceVersion
  };
  /// Merges the status into the pod's KuryrPort; one that has changed since is a conflict (409).
  void PatchPortStatus(const PodFacts& pod, const PortVersion& port, const nlohmann::json& status);
  /// As PatchPortStatus, but replaces all of the status, and these annotations.
  void ReplacePortStatus(const PodFacts& pod, const PortVersion& port, const nlohmann::json& status,
                         const std::map<std::string, std::string>& annotations);
  /// Merges the patch, with its preconditions, into the object at the path, and returns that.
  nlohmann::json Merge(const std::string& path, const nlohmann::json& patch);
  /// Returns the object as it is then; `patch` has preconditions and the status.
  nlohmann::json PatchStatus(const std::string& path, const nlohmann::json& patch);
  /// Deletes a KuryrPort, and takes away kPortFinalizer; the store learns that it is gone. A
  /// KuryrPort that does not exist is deleted already; one that changes meanwhile is a conflict
  /// (409).
  void DeletePort(const std::string& name_space, const std::string& name, const std::string& uid);

 private:
  void RequireLeading() const;
  void LearnPortOf(const PodFacts& pod);
  void PatchPod(watcher::ApiClient& client, const PodFacts& pod, nlohmann::json metadata,
                const std::vector<vif::PodVif>& vifs);
  /// `deleted`: what the API server answered. False while somebody else's finalizer holds it.
  bool Release(const std::string& path, const nlohmann::json& deleted);

  watcher::ApiClient& client_;
  watcher::ApiClient* const beside_;
  PodStore& store_;
  const MayWrite may_write_;
  watcher::EventParser parser_;
};

/// The failure's text. If the API server has forbidden something, the text also names the file
/// that gives the right.
[[nodiscard]] std::string WithMissingRight(const std::exception& failure);

/// Whether a Writer has put kPodFinalizer on the pod, as its metadata.managedFields tell. The
/// original's is another manager's, although it has the same name.
[[nodiscard]] bool HasPutFinalizer(const nlohmann::json& pod);

/// "/api/v1/namespaces/default/pods/nginx"
[[nodiscard]] std::string PodPath(const std::string& name_space, const std::string& name);
/// "/apis/openstack.org/v1/namespaces/default/kuryrports"
[[nodiscard]] std::string PortsPath(const std::string& name_space);

}  // namespace kuryr::controller
