#include "controller/leading.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/log.h"
#include "controller/missing_right.h"
#include "watcher/api_error.h"

namespace kuryr::controller {
namespace {

constexpr const char* kPods = "/api/v1/pods";
constexpr const char* kAttachments = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions";
constexpr const char* kClaims = "/apis/k8s.cni.cncf.io/v1alpha1/ipamclaims";
constexpr const char* kPorts = "/apis/openstack.org/v1/kuryrports";

bool HasNodePool(const std::vector<local::Pool>& pools) {
  return std::any_of(pools.begin(), pools.end(),
                     [](const local::Pool& pool) { return pool.from_node; });
}

bool HasNestedPods(const Config& config) {
  return config.neutron && config.neutron->pods.is_nested();
}

std::set<std::string> LabelKeys(const std::vector<local::Pool>& pools) {
  std::set<std::string> keys;
  for (const local::Pool& pool : pools) {
    for (const auto& [key, value] : pool.pods) keys.insert(key);
  }
  return keys;
}

void LogFailure(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "watch failed", {{"error", WithMissingRight(e)}});
  }
}

/// As with the roles of an older release: pods that need none of these are planned.
void LogForbidden(const char* resource, const std::exception& refusal) {
  Log(LogLevel::kError, "may not be read, and counts as absent: pods that name one get no plan",
      {{"resource", resource}, {"error", WithMissingRight(refusal)}});
}

}  // namespace

SinkKind ChooseSink(const Config& config) {
  if (config.sink) return *config.sink;
  watcher::ApiClient client(config.api.api);
  try {
    (void)client.GetText(std::string(kPorts) + "?limit=1");
    return SinkKind::kKuryrPort;
  } catch (const watcher::ApiError& e) {
    if (e.code() != watcher::ApiError::kNotFound) throw;
    return SinkKind::kPodState;
  }
}

/// What one thread has of its own.
struct Leading::Worker {
  Worker(std::shared_ptr<watcher::ApiClient> client, const MayWrite& may_write, PodStore& store,
         const Reconciler::Shared& shared)
      : api(std::move(client)), writer(*api, store, may_write), reconciler(shared, writer) {}

  std::shared_ptr<watcher::ApiClient> api;
  Writer writer;
  Reconciler reconciler;
};

Leading::Leading(const Parts& parts, SinkKind sink, MayWrite may_write)
    : parts_(parts),
      sink_(sink),
      may_write_(std::move(may_write)),
      backend_(parts.config, {.wake = [this](const Owner& owner) { Wake(owner); },
                              .may_write = may_write_,
                              .observer = &parts.metrics.neutron()}),
      attachments_([this](const std::string& key) { queue_.Add(key); }),
      claims_(backend_.get(), [this](const std::string& key) { queue_.Add(key); }),
      store_(backend_.get(), LabelKeys(parts.config.pools),
             [this](const std::string& key) { queue_.Add(key); }),
      watcher_(parts.config.api.api, pipeline_, LogFailure) {
  pipeline_.Register(store_);
  pipeline_.Register(attachments_);
  pipeline_.Register(claims_);
  watcher_.Add(kPods, watcher::WatchMode::kSet,
               {.fresh = true, .on_listed = [this] { OnListed(pods_listed_); }});
  watcher_.Add(kPorts, watcher::WatchMode::kOptionalSet,
               {.fresh = true, .on_listed = [this] { OnListed(ports_listed_); }});
  watcher_.Add(kAttachments, watcher::WatchMode::kOptionalSet,
               {.fresh = true,
                .on_listed = [this] { OnListed(attachments_listed_); },
                .on_forbidden =
                    [](const std::exception& refusal) {
                      LogForbidden("network-attachment-definitions", refusal);
                    }});
  watcher_.Add(kClaims, watcher::WatchMode::kOptionalSet,
               {.fresh = true,
                .on_listed = [this] { OnListed(claims_listed_); },
                .on_forbidden =
                    [](const std::exception& refusal) {
                      LogForbidden("ipamclaims, whose addresses others may get", refusal);
                    }});
  watcher_.Start();
}

Leading::~Leading() {
  queue_.ShutDown();
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    for (const auto& client : clients_) client->Stop();
  }
  watcher_.Stop();
}

/// Of pods alone: nobody looks at what else was released.
void Leading::Wake(const Owner& owner) {
  if (!owner.name.empty()) queue_.Add(KeyOf(owner.scope, owner.name));
}

Workers::Round Leading::MakeRound() {
  const Reconciler::Shared shared = {.backend = backend_.get(),
                                     .store = store_,
                                     .queue = queue_,
                                     .reporter = parts_.reporter,
                                     .metrics = parts_.metrics,
                                     .nodes = nodes_,
                                     .attachments = attachments_,
                                     .claims = claims_,
                                     .sink = sink_,
                                     .nodes_have_networks = HasNodePool(parts_.config.pools),
                                     .asks_for_node_addresses = HasNestedPods(parts_.config),
                                     .ask_for_absent = [this] { watcher_.AskForAbsent(); }};
  const auto client = std::make_shared<watcher::ApiClient>(parts_.config.api.api);
  const auto worker = std::make_shared<Worker>(client, may_write_, store_, shared);
  clients_.push_back(client);
  return [worker](const std::string& key) { worker->reconciler.Round(key); };
}

/// The workers begin when all lists have been heard of.
void Leading::OnListed(std::once_flag& once) {
  std::call_once(once, [this] {
    if (--lists_missing_ > 0) return;
    Log(LogLevel::kInfo, "cluster heard of", {{"pods", store_.size()}});
    claims_.StartKeeping();
    const MutexLock lock(mutex_);
    if (stopping_) return;
    workers_ = std::make_unique<Workers>(
        queue_, parts_.config.workers,
        [this]() KURYR_TSA(requires_capability(mutex_)) { return MakeRound(); });
    listed_ = true;
  });
}

std::optional<std::string> Leading::WhyNotReady() const {
  if (!listed_) return "the cluster's pods are not listed yet";
  if (!watcher_.IsAlive()) return "the API server has not answered for a while";
  return std::nullopt;
}

void Leading::WriteTo(service::MetricsText& text) {
  const QueueMetrics queue = queue_.metrics();
  text.Metric("kuryr_controller_queue_depth", "gauge", "Pods that wait for a worker.",
              static_cast<double>(queue.ready));
  text.Metric("kuryr_controller_queue_delayed", "gauge", "Pods that are looked at again later.",
              static_cast<double>(queue.delayed));
  text.Metric("kuryr_controller_queue_oldest_seconds", "gauge",
              "How long the first of them has waited.",
              std::chrono::duration<double>(queue.oldest).count());
  text.Metric("kuryr_controller_rounds_total", "counter", "Looks at a pod.",
              static_cast<double>(queue.rounds));
  text.Metric("kuryr_controller_retries_total", "counter", "Looks that are to come again.",
              static_cast<double>(queue.retries));
  backend_.WriteTo(text);
  const PodStore::Counts pods = store_.Count();
  text.Head("kuryr_controller_pods", "gauge", "Scheduled pods with a network of their own.");
  text.Sample("kuryr_controller_pods", {{"state", "planned"}}, static_cast<double>(pods.planned));
  text.Sample("kuryr_controller_pods", {{"state", "waiting"}}, static_cast<double>(pods.waiting));
  const std::vector<NetworkUsage> usage = backend_.get().Usage();
  text.Head("kuryr_controller_addresses", "gauge",
            "Addresses of a network: used, resting after their release, free.");
  for (const NetworkUsage& network : usage) {
    const char* family = network.family == IpFamily::kIpv4 ? "ipv4" : "ipv6";
    const auto sample = [&](const char* state, double value) {
      text.Sample("kuryr_controller_addresses",
                  {{"network", network.network}, {"family", family}, {"state", state}}, value);
    };
    sample("used", static_cast<double>(network.used));
    sample("resting", static_cast<double>(network.resting));
    sample("free", network.limit - static_cast<double>(network.used + network.resting));
  }
}

}  // namespace kuryr::controller
