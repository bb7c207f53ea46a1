#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "cni/pod/known_pod.h"
#include "cni/pod/pod_event_source.h"
#include "cni/pod/pod_question.h"
#include "watcher/event_pipeline.h"
#include "watcher/watcher.h"

namespace kuryr::cni {

/// Watches one pod at the API server, for a plugin that works without an agent. Once the pod is
/// seen without VIFs, watches the pod's KuryrPort as well.
class ApiServerEvents : public PodEventSource, private watcher::EventConsumer {
 public:
  ApiServerEvents(watcher::ApiConfig config, VifSource source)
      : config_(std::move(config)), known_(source) {}

  void Start(const PodArgs& pod, PodHandler& handler) override;
  void Stop() override;
  [[nodiscard]] bool IsCurrent(const PlannedPod& /*pod*/) override { return true; }
  [[nodiscard]] bool IsGone(const PodArgs& pod) override { return IsGonePod(config_, pod); }
  /// Lists pods, which takes the rights that an ADD needs.
  void RequireReady() override;

 private:
  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

  const watcher::ApiConfig config_;
  watcher::EventPipeline pipeline_;
  PodHandler* handler_ = nullptr;
  Mutex mutex_;
  PodArgs pod_ GUARDED_BY(mutex_);
  KnownPod known_ GUARDED_BY(mutex_);
  std::string port_path_ GUARDED_BY(mutex_);  ///< of the KuryrPort; empty while it is watched
  std::optional<watcher::Watcher> port_watcher_;
  std::optional<watcher::Watcher> pod_watcher_;  // last: its events start port_watcher_
};

}  // namespace kuryr::cni
