#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/owners/owner_store.h"
#include "controller/owners/pod_facts.h"
#include "controller/plan/plan_places.h"

namespace kuryr::controller {

/// All that is known of a pod.
struct KnownPod {
  std::shared_ptr<const PodFacts> pod;
  std::shared_ptr<const PortFacts> port;
  std::string ended_port;         ///< UID of the KuryrPort whose end the watch is yet to tell
  std::vector<std::string> gone;  ///< UIDs of deleted pods that the backend may still know
  bool heeds = false;             ///< the backend keeps what another producer planned for the pod
  std::string others_problem;     ///< why it does not, or who else has it

  [[nodiscard]] std::string uid() const { return pod ? pod->uid : ""; }
  [[nodiscard]] bool IsEmpty() const noexcept {
    return !pod && !port && ended_port.empty() && gone.empty();
  }
  [[nodiscard]] bool IsPlanned() const;
  [[nodiscard]] bool IsToBePlanned() const;
};

/// The cluster's pods and their KuryrPorts. A backend, while there is one, hears of every plan.
/// Thread-safe.
class PodStore : public OwnerStore<KnownPod> {
 public:
  static constexpr std::string_view kKind = Key::kPod;

  explicit PodStore(const KindParts& parts)
      : OwnerStore(parts.wake), label_keys_(parts.needs.labels) {}

  [[nodiscard]] std::vector<WatchedPath> Paths() override;
  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  /// Tells of every plan that counts. Wakes every key.
  void BeginTerm(const Term& term) override EXCLUDES(mutex_);
  void WriteTo(service::MetricsText& text) const override;
  /// Takes over a Pod that this process has just written, before the watch tells it. `base` is the
  /// version before the write, `plan` the plan on the Pod. Passed over if the watch has told
  /// another version meanwhile.
  void LearnPod(const watcher::WatchEvent& pod, const std::string& base, const Plan& plan)
      EXCLUDES(mutex_);
  /// Takes over a KuryrPort that this process has just made or found. Passed over if the watch has
  /// told one.
  void LearnPort(nlohmann::json kuryrport) EXCLUDES(mutex_);
  /// The KuryrPort of this UID is gone, whatever the watch still tells of it. `key`: as KeyOf.
  void ForgetPort(const std::string& key, const std::string& uid) EXCLUDES(mutex_);

 private:
  void HandlePod(const watcher::WatchEvent& event) EXCLUDES(mutex_);
  void HandlePort(const watcher::WatchEvent& event) EXCLUDES(mutex_);
  /// Tells the backend, if there is one, of the pod's plan, and judges the plan.
  void Tell(PodFacts& pod) REQUIRES(mutex_);
  /// Tells the backend of other producers' plans, and of addresses beside the plan.
  void TellRest(Known& known) REQUIRES(mutex_);
  /// Changes what is known under the key, and tells the backend of it.
  template <typename Change>
  void Learn(const std::string& key, const Change& change) EXCLUDES(mutex_);

  const std::set<std::string> label_keys_;
  PlanPlaces places_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller
