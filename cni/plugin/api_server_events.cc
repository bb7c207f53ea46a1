#include "cni/plugin/api_server_events.h"

#include <utility>

namespace kuryr::cni {

void ApiServerEvents::Start(const PodArgs& pod, watcher::EventConsumer& consumer,
                            watcher::FailureHandler on_failure) {
  pipeline_.Register(consumer);
  watcher_.emplace(config_, pipeline_, std::move(on_failure));
  // Both names were checked to be DNS names: nothing in them needs escaping.
  watcher_->Add("/api/v1/namespaces/" + pod.name_space + "/pods?fieldSelector=metadata.name%3D" +
                pod.name);
  watcher_->Start();
}

void ApiServerEvents::Stop() { watcher_.reset(); }

}  // namespace kuryr::cni
