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

/// What the watches have told of the cluster's pods and their KuryrPorts, as PodFacts. While there
/// is a backend, it hears of every plan; of everything that changed the pod's key is woken.
/// Thread-safe.
class PodStore : public watcher::EventConsumer {
 public:
  using Wake = std::function<void(const std::string& key)>;

  /// `label_keys`: which labels networks are chosen by.
  PodStore(std::set<std::string> label_keys, Wake wake)
      : label_keys_(std::move(label_keys)), wake_(std::move(wake)) {}

  /// The backend, which is borrowed and new, hears of every plan that is known, and of those to
  /// come, where they count. Every key is woken.
  void StartTelling(Backend& backend, const PlanPlaces& places) EXCLUDES(mutex_);
  /// When it returns, the backend is used no more.
  void StopTelling() EXCLUDES(mutex_);

  /// Pods and KuryrPorts.
  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  /// A Pod as this process has just written it, before the watch says so; `base` is the version
  /// that it was made of, and `plan` stands on it. Passed over where the watch has told of another
  /// one meanwhile.
  void LearnPod(const watcher::WatchEvent& pod, const std::string& base, const Plan& plan)
      EXCLUDES(mutex_);
  /// A KuryrPort that it has just made or found; passed over where the watch has told of one.
  void LearnPort(nlohmann::json kuryrport) EXCLUDES(mutex_);

  /// What is known under one key.
  struct Known {
    std::shared_ptr<const PodFacts> pod;
    std::shared_ptr<const PortFacts> port;
    std::vector<std::string> gone;  ///< UIDs of pods that are no more, and may still have something
                                    ///< at the backend
    bool heeds = false;             ///< the backend keeps what another producer planned for the pod
    std::string others_problem;     ///< why it does not, or who else has it
  };
  [[nodiscard]] Known Find(const std::string& key) const EXCLUDES(mutex_);
  /// The pod of that UID, gone before, has nothing any more.
  void ForgetGone(const std::string& key, const std::string& uid) EXCLUDES(mutex_);

  [[nodiscard]] size_t size() const EXCLUDES(mutex_);
  /// Pods with a plan, and those that wait for one.
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
  /// The backend, if there is one, of a plan, which it judges.
  void Tell(PodFacts& pod) REQUIRES(mutex_);
  /// The backend of what counts beside plans of its own.
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
