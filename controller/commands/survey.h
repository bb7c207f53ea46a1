#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/backends/backend.h"
#include "controller/commands/command_backend.h"
#include "controller/commands/pod_key.h"
#include "controller/config.h"
#include "controller/owners/pod_store.h"
#include "vif/pod_vifs.h"
#include "watcher/api_client.h"
#include "watcher/watch_event.h"

namespace kuryr::controller {

/// A controller's view of the cluster, listed once instead of watched, and judged as a controller
/// would. It has one page of pods in memory at a time, and the facts of all KuryrPorts. With pools
/// in kuryr.conf, it also has all owners of addresses. Not thread-safe. All functions throw what
/// ApiClient does.
class Survey {
 public:
  explicit Survey(const Config& config);

  /// The places where plans count, by kuryr.conf or by the cluster's resources; found out once.
  [[nodiscard]] const PlanPlaces& places();

  struct Pod {
    watcher::WatchEvent event;
    KnownPod known;  ///< with a pod
  };
  using Sink = std::function<void(const Pod& pod)>;
  void ForEachPod(const Sink& sink);
  /// A Node, as the owner of a management port.
  struct Node {
    std::string name;
    std::string uid;
    bool is_planned = false;
  };
  [[nodiscard]] std::vector<Node> FindNodes();
  /// Finds one pod. Other pods are not read, so conflicts of addresses stay unknown. nullopt if the
  /// pod does not exist.
  [[nodiscard]] std::optional<Pod> FindPod(const PodKey& key);

  /// The VIFs of the pod's plan; reads a KuryrPort again.
  [[nodiscard]] std::vector<vif::PodVif> FindVifs(const Pod& pod);

  using Ports = std::map<std::string, PortFacts>;
  /// After ForEachPod: the KuryrPorts without a pod, by key. Ports that were made or deleted
  /// meanwhile may be among them.
  [[nodiscard]] const Ports& ports() const noexcept { return ports_; }
  /// Why objects of the lists could not be read: the first few reasons.
  [[nodiscard]] const std::vector<std::string>& bad_items() const noexcept { return bad_items_; }

  /// Whether the node is gone. Asks the API server once for each node.
  [[nodiscard]] bool IsNodeGone(const std::string& node);

  [[nodiscard]] watcher::ApiClient& client() noexcept { return client_; }
  [[nodiscard]] Backend& backend() noexcept { return backend_.get(); }
  [[nodiscard]] CommandBackend& command_backend() noexcept { return backend_; }

 private:
  using ObjectSink = std::function<void(watcher::WatchEvent object)>;
  void List(const std::string& path, const ObjectSink& sink);
  void ListPorts(const std::string& path, const ObjectSink& sink);
  [[nodiscard]] std::optional<watcher::WatchEvent> FindPort(const std::string& name_space,
                                                            const std::string& name);
  [[nodiscard]] Pod JudgePod(watcher::WatchEvent event, const PortFacts* port);

  const Config& config_;
  CommandBackend backend_;
  watcher::ApiClient client_;
  std::optional<PlanPlaces> places_;
  Ports ports_;
  std::vector<std::string> bad_items_;
  std::unordered_map<std::string, bool> gone_nodes_;
};

}  // namespace kuryr::controller
