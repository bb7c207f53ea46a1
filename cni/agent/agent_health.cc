#include <algorithm>
#include <array>
#include <chrono>

#include "cni/agent/agent.h"
#include "cni/agent/capabilities.h"
#include "cni/commands/status.h"
#include "service/metrics_text.h"

namespace kuryr::cni {
namespace {

using Clock = std::chrono::steady_clock;
using watcher::WatchMetrics;
/// The metrics of all watches, by the resource that they watch.
using Watches = std::map<std::string, WatchMetrics>;

/// The time that Open vSwitch has to answer.
constexpr std::chrono::seconds kOvsTime{5};

/// A label, and its value for each of an array's elements.
template <size_t N>
struct Kinds {
  const char* label;
  std::array<const char*, N> names;
};
constexpr Kinds<watcher::kReconnectReasons> kReasons = {"reason", watcher::kReconnectReasonNames};
constexpr Kinds<watcher::kEventTypes> kTypes = {
    "type", {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "unknown"}};

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// As MetricsText::Head takes it.
struct Metric {
  const char* name;
  const char* type;
  const char* help;
};

template <typename Value>
void WriteEach(service::MetricsText& text, const Watches& watches, const Metric& metric,
               const Value& value) {
  text.Head(metric.name, metric.type, metric.help);
  for (const auto& [resource, metrics] : watches)
    text.Sample(metric.name, {{"resource", resource}}, static_cast<double>(value(metrics)));
}

template <size_t N>
void WriteEachOf(service::MetricsText& text, const Watches& watches, const Metric& metric,
                 const Kinds<N>& kinds, std::array<uint64_t, N> WatchMetrics::* counts) {
  text.Head(metric.name, metric.type, metric.help);
  for (const auto& [resource, metrics] : watches) {
    for (size_t i = 0; i < N; ++i) {
      text.Sample(metric.name, {{"resource", resource}, {kinds.label, kinds.names.at(i)}},
                  static_cast<double>((metrics.*counts).at(i)));
    }
  }
}

void WriteWatches(service::MetricsText& text, const Watches& watches) {
  WriteEach(text, watches,
            {"kuryr_daemon_watch_lag_seconds", "gauge",
             "Of the last event: from its arrival until it was handled."},
            [](const WatchMetrics& metrics) { return Seconds(metrics.lag); });
  WriteEach(text, watches,
            {"kuryr_daemon_watch_failing_seconds", "gauge",
             "Since when every try to watch has failed; 0 while it works."},
            [](const WatchMetrics& metrics) {
              return metrics.failing_since ? Seconds(Clock::now() - *metrics.failing_since) : 0;
            });
  WriteEach(text, watches,
            {"kuryr_daemon_watch_lists_total", "counter", "Complete lists; all but one relists."},
            [](const WatchMetrics& metrics) { return metrics.lists; });
  WriteEach(text, watches, {"kuryr_daemon_watch_bytes_total", "counter", "Received, uncompressed."},
            [](const WatchMetrics& metrics) { return metrics.bytes; });
  WriteEach(text, watches,
            {"kuryr_daemon_watch_events_skipped_total", "counter",
             "Events that could not be read or handled, and were skipped."},
            [](const WatchMetrics& metrics) { return metrics.bad_lines + metrics.handler_errors; });
  WriteEachOf(text, watches, {"kuryr_daemon_watch_events_total", "counter", "Events, by type."},
              kTypes, &WatchMetrics::events);
  WriteEachOf(text, watches,
              {"kuryr_daemon_watch_reconnects_total", "counter",
               "Times that a watch was opened again, by reason."},
              kReasons, &WatchMetrics::reconnects);
}

void WritePorts(service::MetricsText& text, const PortReader::Counts& counts) {
  constexpr std::array<const char*, PortReader::kOutcomes> kOutcomes = {"found", "missing",
                                                                        "absent", "failed"};
  text.Head("kuryr_daemon_kuryrport_lookups_total", "counter",
            "KuryrPorts asked for by name, by outcome.");
  for (size_t i = 0; i < kOutcomes.size(); ++i) {
    text.Sample("kuryr_daemon_kuryrport_lookups_total", {{"outcome", kOutcomes.at(i)}},
                static_cast<double>(counts.questions.at(i)));
  }
  text.Metric("kuryr_daemon_kuryrport_watches", "gauge", "KuryrPorts that ADDs wait for.",
              static_cast<double>(counts.watched));
  text.Metric("kuryr_daemon_kuryrport_watch_failures_total", "counter",
              "Tries to watch a KuryrPort that failed.",
              static_cast<double>(counts.failed_watches));
}

/// Pods and KuryrPorts with VIFs that cannot be read. The log and the status name them: users of
/// the cluster choose their names, and each name would be a series.
void WriteUndecodable(service::MetricsText& text, const std::vector<PlannedPod>& pods) {
  constexpr const char* kName = "kuryr_daemon_undecodable_objects";
  std::map<std::string, size_t> counts = {{"Pod", 0}, {"KuryrPort", 0}};
  for (const PlannedPod& pod : pods) {
    if (pod.plan && pod.plan->problem) ++counts[pod.plan->kind];
  }
  text.Head(kName, "gauge", "Pods and KuryrPorts whose VIFs cannot be read.");
  for (const auto& [kind, count] : counts)
    text.Sample(kName, {{"kind", kind}}, static_cast<double>(count));
}

constexpr const char* kNotListed = "has not listed this node's pods yet";

bool IsFailing(const watcher::Watcher& watcher) {
  const auto watches = watcher.Metrics();
  return std::any_of(watches.begin(), watches.end(),
                     [](const auto& watch) { return watch.second.failing_since.has_value(); });
}

bool HasListedAll(const watcher::Watcher& watcher) {
  const auto watches = watcher.Metrics();
  return std::all_of(watches.begin(), watches.end(),
                     [](const auto& watch) { return watch.second.lists > 0; });
}

}  // namespace

std::optional<std::string> Agent::WhyNotAlive() const { return calls_.WhyStuck(Clock::now()); }

bool Agent::HasListed() const { return HasListedAll(pod_watcher_); }

bool Agent::KnowsPods() const {
  return HasListed() && !IsFailing(pod_watcher_) && !registry_.empty();
}

std::optional<std::string> Agent::WhyNotWatching() const {
  // A watch that has just started is about to list the pods.
  if (!HasListed() && IsFailing(pod_watcher_)) return kNotListed;
  if (!pod_watcher_.IsAlive()) return "has not answered for a while";
  const auto failing = port_reader_.counts().failing_since;
  if (failing && Clock::now() - *failing > config_.api.retry_timeout)
    return "has not told of KuryrPorts for a while";
  return std::nullopt;
}

std::optional<std::string> Agent::WhyNotReady() const {
  if (!MayConfigureNetworks()) return "CAP_NET_ADMIN is missing";
  auto why = WhyNotWatching();
  if (!HasListed()) why = kNotListed;
  if (why) return "the API server at " + config_.api.api_root + " " + *why;
  const auto bridge = OvsBridgeOf(config_);
  if (!bridge) return std::nullopt;
  return node_.binding.FindOvsProblem(*bridge, Deadline::After(kOvsTime));
}

std::string Agent::Metrics() const {
  service::MetricsText text;
  calls_.WriteTo(text);
  text.Metric("kuryr_daemon_requests_limit", "gauge", "Calls of the plugin that may be at work.",
              config_.max_calls);
  const std::vector<PlannedPod> pods = registry_.pods();
  text.Metric("kuryr_daemon_registry_pods", "gauge", "Pods of this node that are known.",
              static_cast<double>(pods.size()));
  text.Metric("kuryr_daemon_attachments", "gauge", "Attachments that have a record.",
              static_cast<double>(attachments_.List().size()));
  text.Metric("kuryr_daemon_leftover_attachments", "gauge",
              "Unwanted attachments that could not be removed yet.",
              static_cast<double>(sweep_.left().size()));
  repair_.WriteTo(text);
  hot_plug_.WriteTo(text);
  node_network_.WriteTo(text);
  certificate_.WriteTo(text);
  policies_.WriteTo(text);
  WriteUndecodable(text, pods);
  Watches watches;
  for (const auto& [path, metrics] : pod_watcher_.Metrics())
    watches[watcher::ResourceOf(path)] = metrics;
  for (const auto& [path, metrics] : node_network_.WatchMetrics())
    watches[watcher::ResourceOf(path)] = metrics;
  // Beside the node's own pods, it is about all of the cluster.
  for (const auto& [path, metrics] : policies_.WatchMetrics())
    watches["policies/" + watcher::ResourceOf(path)] = metrics;
  WriteWatches(text, watches);
  WritePorts(text, port_reader_.counts());
  text.Head("kuryr_daemon_build_info", "gauge", "1, with the version of kuryr-daemon.");
  text.Sample("kuryr_daemon_build_info", {{"version", KURYR_VERSION}}, 1);
  return text.text();
}

}  // namespace kuryr::cni
