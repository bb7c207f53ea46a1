#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/backend.h"
#include "controller/config.h"
#include "controller/owners/pod_store.h"
#include "vif/pod_vifs.h"
#include "watcher/api_client.h"
#include "watcher/watch_event.h"

namespace kuryr::controller {

/// Who plans, as the Lease says.
struct Leader {
  std::string holder;                       ///< whom it names; empty for nobody
  std::optional<std::chrono::seconds> age;  ///< since it was renewed, by this machine's clock
  bool leads = false;                       ///< it has not expired
  std::string unknown;                      ///< why nobody can tell; the rest means nothing then

  /// It is certain that nobody plans.
  [[nodiscard]] bool absent() const noexcept { return !leads && unknown.empty(); }
};

/// One line for people.
[[nodiscard]] std::string Readable(const Leader& leader);

/// "NAMESPACE/NAME" of a pod, as one writes it on a command line. Throws std::runtime_error.
struct PodKey {
  explicit PodKey(const std::string& text);

  std::string name_space;
  std::string name;
};

/// What a controller would know of the cluster, asked for once instead of watched, and judged as a
/// controller would. Of pods one page is in memory at a time; of KuryrPorts, their facts; with
/// pools in kuryr.conf, who has which address. Not thread-safe. All throw what ApiClient does.
class Survey {
 public:
  explicit Survey(const Config& config);

  [[nodiscard]] Leader FindLeader();
  /// Where plans stand, by kuryr.conf or what the cluster has; asked for once.
  [[nodiscard]] const PlanPlaces& places();

  struct Pod {
    watcher::WatchEvent event;
    PodStore::Known known;  ///< its `pod` is never null
  };
  using Sink = std::function<void(const Pod& pod)>;
  void ForEachPod(const Sink& sink);
  /// One alone: whether another has its addresses is not known. nullopt where there is none.
  [[nodiscard]] std::optional<Pod> FindPod(const PodKey& key);

  /// Its plan, read once more.
  [[nodiscard]] std::vector<vif::PodVif> FindVifs(const Pod& pod);

  using Ports = std::map<std::string, PortFacts>;
  /// After ForEachPod: KuryrPorts that no pod has come for, by key. One that was made or deleted
  /// meanwhile may be among them.
  [[nodiscard]] const Ports& ports() const noexcept { return ports_; }
  /// Why objects of the lists could not be read; the first few.
  [[nodiscard]] const std::vector<std::string>& bad_items() const noexcept { return bad_items_; }

  /// Asked once for each node.
  [[nodiscard]] bool IsNodeGone(const std::string& node);

  [[nodiscard]] watcher::ApiClient& client() noexcept { return client_; }
  [[nodiscard]] Backend& backend() noexcept { return *backend_; }
  /// What the backend has of this owner is gone when it returns. Throws std::runtime_error where
  /// that takes longer than a minute.
  void ReleaseNow(const std::string& owner_id);

 private:
  void ReadPorts();
  void ListPorts(const std::string& path,
                 const std::function<void(const watcher::WatchEvent& port)>& sink);
  [[nodiscard]] std::optional<watcher::WatchEvent> FindPort(const std::string& name_space,
                                                            const std::string& name);
  [[nodiscard]] static PortFacts ReadPort(const watcher::WatchEvent& event);
  [[nodiscard]] Pod ReadPod(watcher::WatchEvent event, const PortFacts* port);
  void AddBadItem(const std::string& problem);

  const Config& config_;
  Mutex mutex_;
  std::condition_variable_any woken_;
  size_t wakes_ GUARDED_BY(mutex_) = 0;
  const std::shared_ptr<Backend> backend_;
  watcher::ApiClient client_;
  std::optional<PlanPlaces> places_;
  Ports ports_;
  std::vector<std::string> bad_items_;
  std::unordered_map<std::string, bool> gone_nodes_;
};

}  // namespace kuryr::controller
