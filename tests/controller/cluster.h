#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/backend.h"
#include "tests/fake_apiserver/fake_api_server.h"
#include "watcher/event_pipeline.h"
#include "watcher/watcher.h"

namespace kuryr::test {

/// A cluster of the test's own: a fake API server, and a record of all states of its pods and
/// KuryrPorts.
class Cluster {
 public:
  explicit Cluster(const fake::Options& options = {});

  fake::FakeApiServer& api() { return api_; }
  [[nodiscard]] watcher::ApiConfig ApiConfig() const { return {.api_root = api_.url()}; }

  /// Creates a pod, on node1 unless `spec` says otherwise; returns it as the API server has it.
  nlohmann::json CreatePod(const std::string& name, const nlohmann::json& spec = {},
                           const nlohmann::json& metadata = {});

  using Condition = std::function<bool(const nlohmann::json& object)>;
  /// Returns the object as soon as the condition is true of it; an empty one after 30 s. A deleted
  /// object is null.
  [[nodiscard]] nlohmann::json WaitFor(const std::string& kind, const std::string& name,
                                       const Condition& condition);
  /// Waits for the plan and the finalizer; returns the pod.
  [[nodiscard]] nlohmann::json WaitForPlan(const std::string& name);
  /// Waits until both are gone; returns the pod.
  [[nodiscard]] nlohmann::json WaitForRelease(const std::string& name);
  [[nodiscard]] bool WaitUntilGone(const std::string& kind, const std::string& name);

  /// The Events of a pod: "REASON: MESSAGE".
  [[nodiscard]] std::vector<std::string> EventsOf(const std::string& pod) const EXCLUDES(mutex_);
  /// Waits for an Event of that reason; returns its text.
  [[nodiscard]] std::string WaitForEvent(const std::string& pod, const std::string& reason);

 private:
  class Recorder : public watcher::EventHandler {
   public:
    explicit Recorder(Cluster& cluster) : cluster_(cluster) {}
    void Handle(const watcher::WatchEvent& event) override;

   private:
    Cluster& cluster_;
  };

  [[nodiscard]] std::vector<std::string> EventsSeen(const std::string& pod) const REQUIRES(mutex_);

  fake::FakeApiServer api_;
  Recorder recorder_{*this};
  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, nlohmann::json> objects_ GUARDED_BY(mutex_);  ///< by "Pod/NAME"
  watcher::Watcher watcher_;                                          // last: it uses all members
};

/// The VIFs on a pod's annotation.
[[nodiscard]] std::vector<vif::PodVif> VifsOn(const nlohmann::json& pod);
/// The address of the pod's eth0.
[[nodiscard]] std::string AddressOn(const nlohmann::json& pod);
[[nodiscard]] bool HasFinalizer(const nlohmann::json& pod);

}  // namespace kuryr::test
