#include "cni/plugin/api_server_events.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "cni/failure.h"
#include "cni/protocol/error.h"
#include "watcher/api_client.h"

namespace kuryr::cni {
namespace {

/// ReconnectDelay bounds how often.
void LogFailure(const char* text, const std::exception_ptr& failure) {
  Log(LogLevel::kWarning, text, {{"error", AsCniError(failure).what()}});
}

}  // namespace

std::vector<std::pair<watcher::KeyFn, std::string>> ApiServerEvents::Consumes() const {
  return {{watcher::ObjectKind, "Pod"}, {watcher::ObjectKind, "KuryrPort"}};
}

void ApiServerEvents::Start(const PodArgs& pod, PodHandler& handler) {
  handler_ = &handler;
  pipeline_.Register(*this);
  // Both names were checked to be DNS names: nothing in them needs escaping.
  const auto in_namespace = [&](const std::string& api, const std::string& plural) {
    return api + "/namespaces/" + pod.name_space + "/" + plural +
           "?fieldSelector=metadata.name%3D" + pod.name;
  };
  {
    const MutexLock lock(mutex_);
    pod_ = pod;
    port_path_ = in_namespace("/apis/openstack.org/v1", "kuryrports");
  }
  port_watcher_.emplace(config_, pipeline_, [&handler](const std::exception_ptr& failure) {
    LogFailure("a KuryrPort cannot be read", failure);
    handler.OnWatchFailure(AsPassing(failure));
  });
  port_watcher_->Start();
  pod_watcher_.emplace(config_, pipeline_, [&handler](const std::exception_ptr& failure) {
    LogFailure("the pod cannot be watched", failure);
    handler.OnWatchFailure(failure);
  });
  pod_watcher_->Add(in_namespace("/api/v1", "pods"));
  pod_watcher_->Start();
}

void ApiServerEvents::Stop() {
  pod_watcher_.reset();
  port_watcher_.reset();
}

void ApiServerEvents::Handle(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  // The server may not know the field selector.
  if (event.name_space != pod_.name_space || event.name != pod_.name) return;
  const KnownPod::Change change = known_.Learn(event);
  if (change == KnownPod::Change::kNone) return;
  if (!known_.annotated() && !port_path_.empty())
    port_watcher_->Add(std::exchange(port_path_, {}), watcher::WatchMode::kOptionalSet);
  if (change == KnownPod::Change::kGone) return handler_->OnDeleted(event.uid);
  handler_->OnPresent(*known_.pod());
}

void ApiServerEvents::RequireReady() {
  // read_timeout is for watches, which may be silent for a minute. STATUS waits for this answer.
  watcher::ApiConfig config = config_;
  config.read_timeout = std::min(config.read_timeout, config.connect_timeout);
  try {
    (void)watcher::ApiClient(config).GetText("/api/v1/namespaces/default/pods?limit=1");
  } catch (...) {
    throw CniError(ErrorCode::kNotAvailable, AsCniError(std::current_exception()).what());
  }
}

}  // namespace kuryr::cni
