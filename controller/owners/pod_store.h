#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/backend.h"
#include "controller/owners/plan_places.h"
#include "controller/owners/pod_facts.h"
#include "watcher/event_pipeline.h"

namespace kuryr::controller {

/// The cluster's pods and their KuryrPorts, as the watches tell them. A backend, while there is
/// one, hears of every plan. Each change wakes the pod's key. Thread-safe.
class PodStore : public watcher::EventConsumer {
 public:
  using Wake = std::function<void(const std::string& key)>;

  /// `label_keys`: the labels by which networks are chosen.
  PodStore(std::set<std::string> label_keys, Wake wake)
      : label_keys_(std::move(label_keys)), wake_(std::move(wake)) {}

  /// Tells `backend`, which is borrowed and new, of every known plan that counts, and of later
  /// ones. Wakes every key.
  void StartTelling(Backend& backend, const PlanPlaces& places) EXCLUDES(mutex_);
  /// After the return, the backend is not used any more.
  void StopTelling() EXCLUDES(mutex_);

  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  /// Takes over a Pod that this process has just written, before the watch tells it. `base` is the
  /// version before the write, `plan` the plan on the Pod. Passed over if the watch has told
  /// another version meanwhile.
  void LearnPod(const watcher::WatchEvent& pod, const std::string& base, const Plan& plan)
      EXCLUDES(mutex_);
  /// Takes over a KuryrPort that this process has just made or found. Passed over if the watch has
  /// told one.
  void LearnPort(nlohmann::json kuryrport) EXCLUDES(mutex_);

  /// All that is known under one key.
  struct Known {
    std::shared_ptr<const PodFacts> pod;
    std::shared_ptr<const PortFacts> port;
    std::vector<std::string> gone;  ///< UIDs of deleted pods that the backend may still know
    bool heeds = false;             ///< the backend keeps what another producer planned for the pod
    std::string others_problem;     ///< why it does not, or who else has it
  };
  [[nodiscard]] Known Find(const std::string& key) const EXCLUDES(mutex_);
  /// The backend has released the deleted pod of this UID.
  void ForgetGone(const std::string& key, const std::string& uid) EXCLUDES(mutex_);

  [[nodiscard]] size_t size() const EXCLUDES(mutex_);
  /// Pods with a plan, and pods that wait for one.
  struct Counts {
    size_t planned = 0;
    size_t waiting = 0;
  };
  [[nodiscard]] Counts Count() const EXCLUDES(mutex_);

 private:
  [[nodiscard]] std::shared_ptr<PodFacts> ReadPod(const watcher::WatchEvent& event,
                                                  const Plan& plan) const;
  void HandlePod(const watcher::WatchEvent& event) EXCLUDES(mutex_);
  void HandlePort(const watcher::WatchEvent& event) EXCLUDES(mutex_);
  /// Tells the backend, if there is one, of the pod's plan, and judges the plan.
  void Tell(PodFacts& pod) REQUIRES(mutex_);
  /// Tells the backend of other producers' plans, and of addresses beside the plan.
  void TellRest(Known& known) REQUIRES(mutex_);
  template <typename Change>
  void Update(const std::string& key, const Change& change) EXCLUDES(mutex_);

  const std::set<std::string> label_keys_;
  const Wake wake_;
  mutable Mutex mutex_;
  Backend* backend_ GUARDED_BY(mutex_) = nullptr;  ///< null: nobody leads here
  PlanPlaces places_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, Known> known_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller
