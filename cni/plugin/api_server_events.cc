#include "cni/plugin/api_server_events.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cni/failure.h"
#include "cni/protocol/error.h"
#include "watcher/api_client.h"

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

void ApiServerEvents::RequireReady() {
  // A watch may be silent for a minute; this answer is waited for.
  watcher::ApiConfig config = config_;
  config.read_timeout = std::min(config.read_timeout, config.connect_timeout);
  try {
    (void)watcher::ApiClient(config).Get("/api/v1/namespaces/default/pods?limit=1");
  } catch (...) {
    throw CniError(ErrorCode::kNotAvailable, AsCniError(std::current_exception()).what());
  }
}

}  // namespace kuryr::cni
