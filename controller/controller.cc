#include "controller/controller.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <utility>

#include "base/backoff.h"
#include "base/log.h"
#include "base/rollback.h"
#include "controller/owners/writer.h"
#include "service/metrics_text.h"

namespace kuryr::controller {
namespace {

void WaitUntilStopped(const std::stop_token& stop, std::chrono::milliseconds most) {
  Mutex mutex;
  std::condition_variable_any stopped;
  const MutexLock lock(mutex);
  (void)stopped.wait_for(mutex, stop, most, [] { return false; });
}

/// By resource: two versions of one kind are one.
std::map<std::string, watcher::WatchMetrics> Merge(
    const std::map<std::string, watcher::WatchMetrics>& watches) {
  std::map<std::string, watcher::WatchMetrics> merged;
  for (const auto& [path, watch] : watches) {
    watcher::WatchMetrics& all = merged[watcher::ResourceOf(path)];
    std::transform(watch.reconnects.begin(), watch.reconnects.end(), all.reconnects.begin(),
                   all.reconnects.begin(), std::plus<>());
    if (watch.failing_since)
      all.failing_since =
          std::min(*watch.failing_since, all.failing_since.value_or(*watch.failing_since));
  }
  return merged;
}

void WriteTo(service::MetricsText& text,
             const std::map<std::string, watcher::WatchMetrics>& watches) {
  constexpr const char* kFailing = "kuryr_controller_watch_failing_seconds";
  constexpr const char* kReconnects = "kuryr_controller_watch_reconnects_total";
  const auto now = watcher::WatchMetrics::Clock::now();
  text.Head(kFailing, "gauge", "Since when every try to watch has failed; 0 while it works.");
  for (const auto& [resource, watch] : watches) {
    const std::chrono::duration<double> failing = now - watch.failing_since.value_or(now);
    text.Sample(kFailing, {{"resource", resource}}, failing.count());
  }
  text.Head(kReconnects, "counter", "Times that a watch was opened again, by reason.");
  for (const auto& [resource, watch] : watches) {
    for (size_t i = 0; i < watch.reconnects.size(); ++i) {
      text.Sample(kReconnects,
                  {{"resource", resource}, {"reason", watcher::kReconnectReasonNames.at(i)}},
                  static_cast<double>(watch.reconnects.at(i)));
    }
  }
}

}  // namespace

Controller::Controller(Config config)
    : config_(std::move(config)),
      reporter_(config_.use_events),
      election_(config_.api.api, {.name_space = config_.lease_namespace,
                                  .name = config_.lease_name,
                                  .identity = NewIdentity()}),
      informer_(config_) {}

void Controller::Run(const std::stop_token& stop) {
  Backoff backoff;
  while (!stop.stop_requested()) {
    try {
      LeadOnce(stop);
      backoff.Reset();
    } catch (const std::exception& e) {
      Log(LogLevel::kError, "cannot lead; it will be tried again",
          {{"error", WithMissingRight(e)}});
      WaitUntilStopped(stop, backoff.Next());
    }
  }
  if (config_.leader_elect) election_.Release();
}

void Controller::LeadOnce(const std::stop_token& stop) {
  if (config_.leader_elect && !election_.Acquire(stop, [this] { informer_.Start(); })) return;
  const SinkKind sink = ChooseSink(config_);
  const bool holds_ports = sink == SinkKind::kKuryrPort && !EndsPodsFirst(config_);
  Log(LogLevel::kInfo, "leads", {{"vif_sink", NameOf(sink)}});
  const auto leading = std::make_shared<Leading>(
      Leading::Parts{config_, reporter_, metrics_, informer_, holds_ports}, sink,
      [this] { return MayWrite(); });
  // Also when something throws: no Leading may be left in the informer for the next term.
  const Rollback ended([&] {
    leading->Stop();
    SetLeading(nullptr);
    Log(LogLevel::kInfo, "leads no more");
  });
  SetLeading(leading);
  if (config_.leader_elect) {
    election_.HoldUntilLost(stop);
  } else {
    WaitUntilStopped(stop, std::chrono::hours(24));
  }
}

std::shared_ptr<Leading> Controller::leading() const {
  const MutexLock lock(mutex_);
  return leading_;
}

void Controller::SetLeading(std::shared_ptr<Leading> leading) {
  const MutexLock lock(mutex_);
  leading_.swap(leading);
}

std::optional<std::string> Controller::WhyNotReady() const {
  if (const auto leading = this->leading()) return leading->WhyNotReady();
  return config_.leader_elect ? election_.problem() : "does not lead yet";
}

std::string Controller::Metrics() const {
  service::MetricsText text;
  const auto leading = this->leading();
  text.Metric("kuryr_controller_leader", "gauge", "1 on the controller that plans.",
              leading ? 1 : 0);
  text.Metric("kuryr_controller_lease_held", "gauge",
              "1 while this controller or another one holds the Lease.",
              leading || (!election_.leader().empty() && !election_.problem()) ? 1 : 0);
  text.Metric("kuryr_controller_synced", "gauge",
              "1 on one that knows the cluster, as a standby does.", informer_.IsWarm() ? 1 : 0);
  std::map<std::string, size_t> failing;
  for (const auto& [key, problem] : reporter_.problems()) ++failing[problem.reason];
  text.Head("kuryr_controller_failing_pods", "gauge", "Pods and nodes without a plan, by reason.");
  for (const auto& [reason, pods] : failing)
    text.Sample("kuryr_controller_failing_pods", {{"reason", reason}}, static_cast<double>(pods));
  WriteTo(text, Merge(informer_.WatchMetrics()));
  metrics_.WriteTo(text);
  config_.backend->WriteTo(text);
  if (leading) leading->WriteTo(text);
  text.Head("kuryr_controller_build_info", "gauge", "1, with the version of kuryr-controller.");
  text.Sample("kuryr_controller_build_info", {{"version", KURYR_VERSION}}, 1);
  return text.text();
}

}  // namespace kuryr::controller
