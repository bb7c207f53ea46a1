#include "controller/commands/survey.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "controller/cluster/node_store.h"
#include "controller/cluster/nodes.h"
#include "controller/leading.h"
#include "controller/owners/plan_verdict.h"
#include "controller/owners/writer.h"
#include "watcher/api_error.h"
#include "watcher/list_pages.h"

namespace kuryr::controller {
namespace {

using watcher::ApiError;
using watcher::WatchEvent;

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

Survey::Survey(const Config& config) : config_(config), backend_(config), client_(config.api.api) {}

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
  Judge(backend(), places(), *facts);
  Pod pod{.event = std::move(event), .known = {.pod = std::move(facts)}};
  if (port != nullptr) pod.known.port = std::make_shared<PortFacts>(*port);
  JudgePort(backend(), places(), pod.known);
  HeedOthers(backend(), pod.known);
  return pod;
}

bool Survey::IsNodeGone(const std::string& node) {
  const auto known = gone_nodes_.find(node);
  if (known != gone_nodes_.end()) return known->second;
  return gone_nodes_[node] = controller::IsNodeGone(node, client_);
}

}  // namespace kuryr::controller
