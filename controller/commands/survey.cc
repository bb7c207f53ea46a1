#include "controller/commands/survey.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "controller/cluster/node_store.h"
#include "controller/cluster/nodes.h"
#include "controller/election/api_time.h"
#include "controller/election/lease.h"
#include "controller/leading.h"
#include "controller/owners/plan_verdict.h"
#include "controller/owners/writer.h"
#include "service/table.h"
#include "watcher/api_error.h"
#include "watcher/list_pages.h"

namespace kuryr::controller {
namespace {

using watcher::ApiError;
using watcher::WatchEvent;

constexpr std::chrono::minutes kReleaseTime{1};

/// The object; nullopt if it does not exist.
std::optional<nlohmann::json> GetIfThere(watcher::ApiClient& client, const std::string& path) {
  try {
    return client.Get(path);
  } catch (const ApiError& e) {
    if (e.code() == ApiError::kNotFound) return std::nullopt;
    throw;
  }
}

}  // namespace

std::string Readable(const Leader& leader) {
  if (!leader.unknown.empty()) return "who leads is not known: " + leader.unknown;
  const std::string renewed = leader.age ? "renewed " + service::Age(*leader.age) + " ago" : "";
  if (leader.leads) return Printable(leader.holder, 300) + " leads, " + renewed;
  if (leader.holder.empty()) return "nobody leads";
  return "nobody leads; the Lease is " + Printable(leader.holder, 300) + "'s, " +
         (renewed.empty() ? "never renewed" : renewed);
}

PodKey::PodKey(const std::string& text) {
  const size_t slash = text.find('/');
  name_space = text.substr(0, slash);
  if (slash != std::string::npos) name = text.substr(slash + 1);
  if (!IsDnsName(name_space) || !IsDnsName(name))
    throw std::runtime_error("\"" + Printable(text, 300) + "\" names no pod; expected " +
                             "NAMESPACE/NAME");
}

Survey::Survey(const Config& config)
    : config_(config),
      backend_(config.backend->Make({.wake =
                                         [this](const Owner&) {
                                           const MutexLock lock(mutex_);
                                           ++wakes_;
                                           woken_.notify_all();
                                         },
                                     .may_write = [] { return true; }})),
      client_(config.api.api) {}

Leader Survey::FindLeader() {
  if (!config_.leader_elect) return {.unknown = "[controller] leader_elect is off"};
  try {
    const auto object =
        GetIfThere(client_, LeasesPath(config_.lease_namespace) + "/" + config_.lease_name);
    if (!object) return {};
    const Lease lease = ParseLease(*object);
    Leader leader{.holder = lease.holder};
    if (lease.renewed) leader.age = AgeOf(*lease.renewed);
    leader.leads = !lease.holder.empty() && leader.age && *leader.age < lease.duration;
    return leader;
  } catch (const ApiError& e) {
    if (e.code() != ApiError::kForbidden) throw;
    return {.unknown = e.what()};
  }
}

void Survey::ForEachPod(const Sink& sink) {
  ListPorts("/apis/openstack.org/v1/kuryrports", [&](const WatchEvent& event) {
    ports_.insert_or_assign(KeyOf(event.name_space, event.name), ReadPort(event));
  });
  List("/api/v1/pods", [&](WatchEvent event) {
    const auto port = ports_.find(KeyOf(event.name_space, event.name));
    const Pod pod = JudgePod(std::move(event), port == ports_.end() ? nullptr : &port->second);
    if (port != ports_.end() && port->second.pod_uid == pod.event.uid) ports_.erase(port);
    sink(pod);
  });
}

std::vector<Survey::Node> Survey::FindNodes() {
  std::vector<Node> nodes;
  List("/api/v1/nodes", [&](const WatchEvent& event) {
    const OwningNode node = OwningNodeOf(event);
    nodes.push_back({.name = node.name, .uid = node.uid, .is_planned = !node.vifs.empty()});
  });
  return nodes;
}

std::optional<Survey::Pod> Survey::FindPod(const PodKey& key) {
  std::optional<PortFacts> port;
  if (const auto found = FindPort(key.name_space, key.name)) port = ReadPort(*found);
  auto object = GetIfThere(client_, PodPath(key.name_space, key.name));
  if (!object) return std::nullopt;
  return JudgePod(MakeEvent(watcher::EventType::kAdded, std::move(*object)),
                  port ? &*port : nullptr);
}

std::vector<vif::PodVif> Survey::FindVifs(const Pod& pod) {
  const PodFacts& facts = *pod.known.pod;
  if (&PlanOf(pod.known) == &facts.plan) return PlanOn(pod.event).vifs;
  const auto port = FindPort(facts.name_space, facts.name);
  return port ? PlanOn(*port).vifs : std::vector<vif::PodVif>();
}

/// Uses a list, which a controller's account has the right to ask for.
std::optional<WatchEvent> Survey::FindPort(const std::string& name_space, const std::string& name) {
  std::optional<WatchEvent> port;
  ListPorts(PortsPath(name_space) + "?fieldSelector=metadata.name%3D" + name,
            [&](const WatchEvent& event) { port = event; });
  return port;
}

void Survey::List(const std::string& path, const ObjectSink& sink) {
  constexpr size_t kMost = 10;
  watcher::ForEachListed(client_, path,
                         {.item = sink, .bad_item = [this](const std::string& problem) {
                            if (bad_items_.size() < kMost) bad_items_.push_back(problem);
                          }});
}

/// Lists nothing if the API server does not have the resource.
void Survey::ListPorts(const std::string& path, const ObjectSink& sink) {
  try {
    List(path, sink);
  } catch (const ApiError& e) {
    if (e.code() != ApiError::kNotFound) throw;
  }
}

const PlanPlaces& Survey::places() {
  if (!places_) places_ = PlacesOf(config_, ChooseSink(config_));
  return *places_;
}

Survey::Pod Survey::JudgePod(WatchEvent event, const PortFacts* port) {
  auto facts = std::make_shared<PodFacts>(ReadPod(event, PlanOn(event), {}));
  Judge(*backend_, places(), *facts);
  Pod pod{.event = std::move(event), .known = {.pod = std::move(facts)}};
  if (port != nullptr) pod.known.port = std::make_shared<PortFacts>(*port);
  JudgePort(*backend_, places(), pod.known);
  HeedOthers(*backend_, pod.known);
  return pod;
}

void Survey::ReleaseNow(const std::string& owner_id) {
  const auto end = std::chrono::steady_clock::now() + kReleaseTime;
  size_t heard = 0;
  while (!backend().Release(owner_id)) {
    const MutexLock lock(mutex_);
    const bool woken = woken_.wait_until(
        mutex_, end, [&]() KURYR_TSA(requires_capability(mutex_)) { return wakes_ > heard; });
    if (!woken) throw std::runtime_error("the backend has not released it within a minute");
    heard = wakes_;
  }
}

bool Survey::IsNodeGone(const std::string& node) {
  const auto known = gone_nodes_.find(node);
  if (known != gone_nodes_.end()) return known->second;
  return gone_nodes_[node] = controller::IsNodeGone(node, client_);
}

}  // namespace kuryr::controller
