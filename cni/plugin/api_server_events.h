#pragma once

#include <optional>

#include "cni/pod_event_source.h"
#include "watcher/watcher.h"

namespace kuryr::cni {

/// The pod's own watch at the API server, for a plugin that works without an agent.
class ApiServerEvents : public PodEventSource {
 public:
  explicit ApiServerEvents(watcher::ApiConfig config) : config_(std::move(config)) {}

  void Start(const PodArgs& pod, watcher::EventConsumer& consumer,
             watcher::FailureHandler on_failure) override;
  void Stop() override;
  /// Asks for pods, with the rights that an ADD needs.
  void RequireReady() override;

 private:
  const watcher::ApiConfig config_;
  watcher::EventPipeline pipeline_;
  std::optional<watcher::Watcher> watcher_;
};

}  // namespace kuryr::cni
