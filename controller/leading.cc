#include "controller/leading.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "controller/owners/plan_verdict.h"
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
  Worker(std::shared_ptr<watcher::ApiClient> client, const MayWrite& may_write, Nodes& nodes,
         const Reconciler::Shared& shared, Informer& known)
      : informer(known),
        balancer(shared.needs.services ? shared.backend.facets().services : nullptr),
        reporter(shared.reporter),
        api(std::move(client)),
        writer(*api, shared.store, may_write),
        view(*api, nodes),
        reconciler(shared, writer, view),
        node_reconciler(shared, writer),
        policy_round(known.policies(),
                     shared.needs.policies ? shared.backend.facets().policies : nullptr,
                     shared.reporter, writer) {}

  void Round(const Key& key) {
    if (key.kind == Key::kPod) return reconciler.Round(key);
    if (key.kind == Key::kNode) return node_reconciler.Round(key);
    if (key.kind == Policies::kKind) return policy_round.Round(key);
    if (key.kind == Services::kKind) return TellOfService(key.object);
    TellOfWaiting(key.object);
  }

  void TellOfService(const std::string& name) {
    const auto problem = balancer == nullptr ? std::nullopt : balancer->WhyNotBalanced(name);
    const auto uid = problem ? informer.services().UidForNews(name, *problem) : std::nullopt;
    if (!uid) return;
    const size_t slash = name.find('/');
    reporter.TellOf({.name_space = name.substr(0, slash),
                     .name = name.substr(slash + 1),
                     .uid = *uid,
                     .kind = "Service"},
                    "KuryrServiceNotBalanced",
                    "kube-proxy serves pods, and policies do not hold: " + *problem, writer);
  }

  void TellOfWaiting(const std::string& lane) {
    const auto waiting = informer.FindWaiting(lane);
    if (!waiting) return;
    const watcher::WatchEvent& event = waiting->event;
    reporter.TellOf({.name_space = event.name_space,
                     .name = event.name,
                     .uid = event.uid,
                     .kind = event.kind,
                     .api_version = StringAt(*event.object, "apiVersion")},
                    "KuryrChangesTooOften",
                    "waits, for others' sake: changes in " + LaneOf(event).value_or("") +
                        " are too many or too large, and each one is followed by a pause, now of " +
                        std::to_string(waiting->pause.count()) +
                        " s. Change its objects less often, or make them smaller",
                    writer);
  }

  Informer& informer;
  const ServiceBalancer* const balancer;  ///< null: kube-proxy's rules serve pods
  Reporter& reporter;
  std::shared_ptr<watcher::ApiClient> api;
  Writer writer;
  ClusterView view;
  Reconciler reconciler;
  NodeReconciler node_reconciler;
  PolicyRound policy_round;
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
           .is_scope = [&namespaces = parts.informer.namespaces()](
                           const std::string& id) { return namespaces.Has(id); },
           .is_gone = [this](const Owner& pod) { return IsGone(pod); },
           .find_machine =
               [this](const std::string& node) { return FindMachine(node, node_asker_); },
           .wake_policy =
               [this](const std::string& name) { queue_.Add({Policies::kKind, name}); }})) {
  parts_.informer.Lead({.backend = *backend_,
                        .places = PlacesOf(parts_.config, sink_),
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

Workers::Round Leading::MakeRound() {
  Informer& informer = parts_.informer;
  const Reconciler::Shared shared = {{.backend = *backend_,
                                      .queue = queue_,
                                      .reporter = parts_.reporter,
                                      .metrics = parts_.metrics,
                                      .nodes = informer.nodes(),
                                      .node_network = parts_.config.node_network,
                                      .service_cidrs = informer.service_cidrs(),
                                      .needs = parts_.config.backend->needs(),
                                      .ask_for_absent = [&informer] { informer.AskForAbsent(); }},
                                     informer.pods(),
                                     informer.attachments(),
                                     informer.claims(),
                                     informer.namespaces(),
                                     sink_,
                                     parts_.holds_ports};
  const auto client = std::make_shared<watcher::ApiClient>(parts_.config.api.api);
  const auto worker = std::make_shared<Worker>(client, may_write_, nodes_, shared, parts_.informer);
  clients_.push_back(client);
  return [worker](const Key& key) { worker->Round(key); };
}

void Leading::Begin() {
  const MutexLock lock(mutex_);
  if (stopping_) return;
  backend_->EndAdoption();
  Log(LogLevel::kInfo, "cluster heard of", {{"pods", parts_.informer.pods().size()}});
  workers_ = std::make_unique<Workers>(
      queue_, parts_.config.workers,
      [this]() KURYR_TSA(requires_capability(mutex_)) { return MakeRound(); });
  begun_ = true;
}

bool Leading::IsGone(const Owner& pod) {
  const KnownPod known = parts_.informer.pods().Find(KeyOf(pod));
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
  text.Metric("kuryr_controller_queue_delayed", "gauge", "Pods that are looked at again later.",
              static_cast<double>(queue.delayed));
  text.Metric("kuryr_controller_queue_oldest_seconds", "gauge",
              "How long the first of them has waited.",
              std::chrono::duration<double>(queue.oldest).count());
  text.Metric("kuryr_controller_rounds_total", "counter", "Looks at a pod.",
              static_cast<double>(queue.rounds));
  text.Metric("kuryr_controller_retries_total", "counter", "Looks that are to come again.",
              static_cast<double>(queue.retries));
  if (const auto* metrics = backend_->facets().metrics) metrics->WriteTo(text);
  const PlanCounts pods = parts_.informer.pods().Count();
  text.Head("kuryr_controller_pods", "gauge", "Scheduled pods with a network of their own.");
  text.Sample("kuryr_controller_pods", {{"state", "planned"}}, static_cast<double>(pods.planned));
  text.Sample("kuryr_controller_pods", {{"state", "waiting"}}, static_cast<double>(pods.waiting));
  text.Metric("kuryr_controller_policies_not_enforced", "gauge",
              "Policies of the cluster that nothing enforces.",
              static_cast<double>(parts_.informer.policies().CountNotEnforced()));
  const PacedChanges::Figures paced = parts_.informer.paced();
  text.Metric("kuryr_controller_changes_waiting", "gauge",
              "Changes that wait because others of their namespace came before.",
              static_cast<double>(paced.waiting));
  text.Metric("kuryr_controller_changes_kept_total", "counter", "Changes that had to wait so.",
              static_cast<double>(paced.kept));
  text.Metric("kuryr_controller_paced_namespaces", "gauge", "Namespaces whose changes wait.",
              static_cast<double>(paced.lanes));
  text.Metric("kuryr_controller_changes_oldest_seconds", "gauge",
              "How long the first of them has waited.",
              std::chrono::duration<double>(paced.oldest).count());
  if (!parts_.config.node_network.enabled) return;
  const PlanCounts nodes = parts_.informer.nodes().Count();
  text.Head("kuryr_controller_nodes", "gauge", "Nodes with and without a management port's plan.");
  text.Sample("kuryr_controller_nodes", {{"state", "planned"}}, static_cast<double>(nodes.planned));
  text.Sample("kuryr_controller_nodes", {{"state", "waiting"}}, static_cast<double>(nodes.waiting));
}

}  // namespace kuryr::controller
