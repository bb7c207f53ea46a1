#include "controller/leading.h"

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "controller/owners/plan_verdict.h"
#include "controller/rounds/telling_rounds.h"
#include "watcher/api_error.h"

namespace kuryr::controller {
namespace {

constexpr const char* kPorts = "/apis/openstack.org/v1/kuryrports";

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

bool EndsPodsFirst(const Config& config) {
  // Namespaces are ended by the controller manager, which may be a release older: from 1.33 on it
  // ends pods first.
  constexpr unsigned kFirstMinor = 34;
  watcher::ApiClient client(config.api.api);
  try {
    const nlohmann::json version = client.Get("/version");
    // Some clouds have "34+".
    const std::string text = StringAt(version, "minor");
    unsigned minor = 0;
    (void)std::from_chars(text.data(), text.data() + text.size(), minor);
    return StringAt(version, "major") == "1" && minor >= kFirstMinor;
  } catch (const watcher::ApiError&) {
    return false;
  }
}

/// The objects of one thread.
struct Leading::Worker {
  explicit Worker(Leading& leading)
      : api(std::make_shared<watcher::ApiClient>(leading.parts_.config.api.api)),
        beside(std::make_shared<watcher::ApiClient>(leading.parts_.config.api.api)),
        writer(*api, leading.parts_.informer.kinds().pods, leading.may_write_, beside.get()),
        view(*api, leading.nodes_) {
    Informer& informer = leading.parts_.informer;
    const RoundParts parts = leading.PartsOf(writer, view);
    for (const KindRow& row : informer.kinds().rows) {
      if (row.make_round) rounds.emplace(row.name, row.make_round(parts));
    }
    const auto find = [&informer](const std::string& lane) { return informer.FindWaiting(lane); };
    rounds.emplace(Informer::kLane, std::make_unique<LaneRound>(find, parts));
  }

  const std::shared_ptr<watcher::ApiClient> api;
  const std::shared_ptr<watcher::ApiClient> beside;
  Writer writer;
  ClusterView view;
  std::map<std::string_view, std::unique_ptr<Round>> rounds;  ///< by the kind of their keys
};

Leading::Leading(const Parts& parts, SinkKind sink, MayWrite may_write)
    : parts_(parts),
      sink_(sink),
      may_write_(std::move(may_write)),
      asker_(parts.config.api.api),
      node_asker_(parts.config.api.api),
      backend_(parts.config.backend->Make(
          {.wake = [this](const Owner& owner) { Wake(owner); },
           .may_write = may_write_,
           .is_scope = [&namespaces = parts.informer.kinds().namespaces](
                           const std::string& id) { return namespaces.Has(id); },
           .is_gone = [this](const Owner& pod) { return IsGone(pod); },
           .find_machine =
               [this](const std::string& node) { return FindMachine(node, node_asker_); },
           .wake_policy =
               [this](const std::string& name) { queue_.Add({Policies::kKind, name}); }})) {
  parts_.informer.Lead({.term = {*backend_, PlacesOf(parts_.config, sink_)},
                        .wake = [this](const Key& key) { queue_.Add(key); },
                        .begin = [this] { Begin(); }});
}

void Leading::Stop() {
  queue_.ShutDown();
  std::unique_ptr<Workers> ended;
  {
    const MutexLock lock(mutex_);
    if (std::exchange(stopping_, true)) return;
    asker_.Stop();
    node_asker_.Stop();
    for (const auto& client : clients_) client->Stop();
    ended.swap(workers_);
  }
  ended.reset();
  parts_.informer.Follow(*backend_);
}

/// Wakes pods and nodes. An owner without a name (a claim, or a pod that is gone) has no round.
void Leading::Wake(const Owner& owner) {
  if (!owner.name.empty()) queue_.Add(Key::Of(owner));
}

RoundParts Leading::PartsOf(Writer& writer, ClusterView& view) {
  Informer& informer = parts_.informer;
  KindTable& kinds = informer.kinds();
  return {.backend = *backend_,
          .queue = queue_,
          .reporter = parts_.reporter,
          .metrics = parts_.metrics,
          .nodes = kinds.nodes,
          .attachments = kinds.attachments,
          .claims = kinds.claims,
          .namespaces = kinds.namespaces,
          .service_cidrs = kinds.service_cidrs,
          .node_network = parts_.config.node_network,
          .needs = parts_.config.backend->needs(),
          .ask_for_absent = [&informer] { informer.AskForAbsent(); },
          .sink = sink_,
          .holds_ports = parts_.holds_ports,
          .writer = writer,
          .view = view};
}

Workers::Round Leading::MakeRound() {
  const auto worker = std::make_shared<Worker>(*this);
  clients_.insert(clients_.end(), {worker->api, worker->beside});
  return [worker](const Key& key) { worker->rounds.at(key.kind)->Look(key); };
}

void Leading::Begin() {
  const MutexLock lock(mutex_);
  if (stopping_) return;
  backend_->EndAdoption();
  Log(LogLevel::kInfo, "cluster heard of", {{"pods", parts_.informer.kinds().pods.size()}});
  workers_ = std::make_unique<Workers>(
      queue_, parts_.config.workers,
      [this]() KURYR_TSA(requires_capability(mutex_)) { return MakeRound(); });
  begun_ = true;
}

bool Leading::IsGone(const Owner& pod) {
  const KnownPod known = parts_.informer.kinds().pods.Find(KeyOf(pod));
  if (known.uid() == pod.id) return AwaitedBy(*known.pod) == Awaited::kNothing && !HasOurs(known);
  try {
    const nlohmann::json found = asker_.Get(PodPath(pod.scope, pod.name));
    return StringAt(found.at("metadata"), "uid") != pod.id;
  } catch (const watcher::ApiError& e) {
    if (e.code() != watcher::ApiError::kNotFound) throw;
    return true;
  }
}

std::optional<std::string> Leading::WhyNotReady() const {
  if (!begun_) return "the cluster's pods are not listed yet";
  if (!parts_.informer.IsAlive()) return "the API server has not answered for a while";
  return std::nullopt;
}

void Leading::WriteTo(service::MetricsText& text) {
  const service::QueueMetrics queue = queue_.metrics();
  text.Metric("kuryr_controller_queue_depth", "gauge", "Pods that wait for a worker.",
              static_cast<double>(queue.ready));
  text.Metric("kuryr_controller_queue_delayed", "gauge", "Pods that are reconciled again later.",
              static_cast<double>(queue.delayed));
  text.Metric("kuryr_controller_queue_oldest_seconds", "gauge",
              "How long the first in the queue has waited.",
              std::chrono::duration<double>(queue.oldest).count());
  text.Metric("kuryr_controller_reconciles_total", "counter",
              "Times that a worker compared a pod with its plan.",
              static_cast<double>(queue.rounds));
  text.Metric("kuryr_controller_reconcile_retries_total", "counter",
              "Reconciles that must be repeated.", static_cast<double>(queue.retries));
  if (const auto* metrics = backend_->facets().metrics) metrics->WriteTo(text);
  for (const KindRow& row : parts_.informer.kinds().rows) row.kind.WriteTo(text);
  const PacedChanges::Figures paced = parts_.informer.paced();
  text.Metric("kuryr_controller_changes_waiting", "gauge",
              "Changes that wait because others of their namespace came before.",
              static_cast<double>(paced.waiting));
  text.Metric("kuryr_controller_changes_kept_total", "counter", "Changes that had to wait so.",
              static_cast<double>(paced.kept));
  text.Metric("kuryr_controller_paced_namespaces", "gauge", "Namespaces whose changes wait.",
              static_cast<double>(paced.lanes));
  text.Metric("kuryr_controller_changes_oldest_seconds", "gauge",
              "How long the first waiting change has waited.",
              std::chrono::duration<double>(paced.oldest).count());
}

}  // namespace kuryr::controller
