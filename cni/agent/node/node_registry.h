#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "base/thread_annotations.h"
#include "binding/node/node_plan.h"
#include "vif/pod_vifs.h"
#include "watcher/event_pipeline.h"

namespace kuryr::cni {

/// The cluster as the node's own network has to know it.
struct KnownNodes {
  bool is_complete = false;        ///< every node was listed once
  std::string uid;                 ///< of the own Node; empty: there is none
  std::optional<vif::PodVif> vif;  ///< the own Node's plan
  std::string problem;             ///< why the own plan cannot be read
  std::string machine;             ///< the own Node's, as in ChassisMark
  std::vector<IpAddress> addresses;
  std::vector<binding::OtherNode> others;  ///< by name
};

/// The cluster's Nodes: of each one its InternalIPs, and the networks of its management port by
/// annotation openstack.org/kuryr-vif. It knows what was said first. Thread-safe.
class NodeRegistry : public watcher::EventConsumer {
 public:
  /// The networks to which an earlier process made routes, and the nodes' addresses by which they
  /// lead there; nullopt: the management port's gateway.
  using StandingRoutes = std::map<IpNetwork, std::optional<IpAddress>>;

  /// `interface` is the management port's on each node. `on_change` is called in a watch's thread.
  NodeRegistry(std::string own_name, std::string interface, StandingRoutes standing,
               std::function<void()> on_change)
      : own_name_(std::move(own_name)),
        interface_(std::move(interface)),
        on_change_(std::move(on_change)),
        standing_(std::move(standing)) {}

  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  /// Every node is known from now on.
  void SetComplete() EXCLUDES(mutex_);
  [[nodiscard]] KnownNodes Nodes() const EXCLUDES(mutex_);

 private:
  struct Node {
    std::string uid;
    std::vector<IpAddress> addresses;
    std::optional<vif::PodVif> vif;
    std::vector<IpNetwork> networks;
    std::set<IpNetwork> pod_cidrs;  ///< spec.podCIDRs, which no kubelet can change
    std::map<IpAddress, uint64_t> addresses_since;
    std::map<IpNetwork, uint64_t> networks_since;
    std::string problem;
    std::string machine;

    bool operator==(const Node&) const = default;
  };

  [[nodiscard]] bool Stands(const IpNetwork& network, const Node& node) const;
  [[nodiscard]] Node Read(const watcher::WatchEvent& event) const;
  void ReadPlan(const nlohmann::json& object, Node& node) const;
  /// Numbers the node's claims by age. A claim that it made before keeps its number. Networks of
  /// spec.podCIDRs are the oldest, and at the start also those to which this node has a route.
  void Number(const Node& known, Node& node) REQUIRES(mutex_);
  [[nodiscard]] bool Learn(const watcher::WatchEvent& event) EXCLUDES(mutex_);

  const std::string own_name_;
  const std::string interface_;
  const std::function<void()> on_change_;
  mutable Mutex mutex_;
  bool is_complete_ GUARDED_BY(mutex_) = false;
  /// The age of the next new claim. All claims of the first list have the same one.
  uint64_t now_ GUARDED_BY(mutex_) = 1;
  const StandingRoutes standing_;
  std::map<std::string, Node> nodes_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
