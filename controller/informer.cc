#include "controller/informer.h"

#include <utility>

#include "base/log.h"
#include "controller/backends/backend_factory.h"
#include "controller/owners/writer.h"
#include "policy/admin_policy.h"

namespace kuryr::controller {
namespace {

void LogWatchFailure(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "watch failed", {{"error", WithMissingRight(e)}});
  }
}

/// As with the roles of an older release: pods that need none of these are planned.
std::function<void(const std::exception& refusal)> ForbiddenLog(const char* resource) {
  return [resource](const std::exception& refusal) {
    Log(LogLevel::kError, "may not be read, and counts as absent: what needs one gets no plan",
        {{"resource", resource}, {"error", WithMissingRight(refusal)}});
  };
}

}  // namespace

Informer::Informer(const Config& config)
    : pods_(config.backend->needs().labels,
            [this](const Key& key) KURYR_TSA(requires_capability(mutex_)) { Wake(key); }),
      attachments_([this](const Key& key) KURYR_TSA(requires_capability(mutex_)) { Wake(key); }),
      claims_([this](const Key& key) KURYR_TSA(requires_capability(mutex_)) { Wake(key); }),
      namespaces_([this](const Key& key) KURYR_TSA(requires_capability(mutex_)) { Wake(key); }),
      nodes_([this](const Key& key) KURYR_TSA(requires_capability(mutex_)) { Wake(key); }),
      policies_(config.backend->needs(),
                [this](const Key& key) KURYR_TSA(requires_capability(mutex_)) { Wake(key); }),
      services_([this](const Key& key) KURYR_TSA(requires_capability(mutex_)) { Wake(key); }),
      service_cidrs_(config.node_network.service_cidrs),
      changes_({.take = [this](const watcher::WatchEvent& event) { pipeline_.Handle(event); },
                .tell = [this](const std::string& lane)
                            KURYR_TSA(requires_capability(mutex_)) { Wake({kLane, lane}); },
                .take_peers = [this] { return policies_.TakeWork(); }}),
      watcher_(config.api.api, *this, LogWatchFailure) {
  using watcher::WatchMode;
  const BackendNeeds needs = config.backend->needs();
  // A pod's policies are known before its plan is made.
  pipeline_.Register(policies_);
  pipeline_.Register(pods_);
  pipeline_.Register(attachments_);
  pipeline_.Register(claims_);
  pipeline_.Register(namespaces_);
  if (config.node_network.enabled) pipeline_.Register(nodes_);
  pipeline_.Register(services_);
  pipeline_.Register(service_cidrs_);
  Watch("/api/v1/pods", WatchMode::kSet);
  Watch("/apis/openstack.org/v1/kuryrports", WatchMode::kOptionalSet);
  Watch("/apis/k8s.cni.cncf.io/v1/network-attachment-definitions", WatchMode::kOptionalSet,
        ForbiddenLog("network-attachment-definitions"));
  Watch("/apis/k8s.cni.cncf.io/v1alpha1/ipamclaims", WatchMode::kOptionalSet,
        ForbiddenLog("ipamclaims, whose addresses others may get"));
  Watch("/apis/networking.k8s.io/v1/networkpolicies",
        needs.policies ? WatchMode::kSet : WatchMode::kOptionalSet,
        ForbiddenLog("networkpolicies, which nobody is told of"));
  Watch("/apis/k8s.cni.cncf.io/v1beta1/multi-networkpolicies", WatchMode::kOptionalSet,
        ForbiddenLog("multi-networkpolicies, which nothing enforces then"));
  for (const policy::AdminKind& kind : policy::kAdminKinds)
    Watch(kind.path().c_str(), WatchMode::kOptionalSet,
          ForbiddenLog("admins' policies, which nothing enforces then"));
  if (needs.policies) {
    Watch("/api/v1/namespaces", WatchMode::kSet);
  } else if (needs.scopes) {
    Watch("/api/v1/namespaces", WatchMode::kOptionalSet,
          [this](const std::exception& refusal) { namespaces_.Refuse(WithMissingRight(refusal)); });
  }
  if (config.node_network.enabled || needs.admin_policies)
    Watch("/api/v1/nodes", WatchMode::kOptionalSet, ForbiddenLog("nodes"));
  if (config.node_network.enabled && !needs.services)
    Watch("/apis/networking.k8s.io/v1/servicecidrs", WatchMode::kOptionalSet,
          ForbiddenLog("servicecidrs, to which pods get no routes"));
  if (needs.services) {
    const auto log = ForbiddenLog("services and endpointslices, which pods do not reach");
    Watch("/api/v1/services", WatchMode::kOptionalSet, log);
    Watch("/apis/discovery.k8s.io/v1/endpointslices", WatchMode::kOptionalSet, log);
    Watch("/apis/discovery.k8s.io/v1beta1/endpointslices", WatchMode::kOptionalSet, log);
  }
  pacer_ = std::jthread([this](const std::stop_token& stop) { PassDue(stop); });
}

/// The first list is of the present state already: a large set comes a page at a time. A list of
/// what the API server has at hand is all in one answer.
void Informer::Watch(const char* path, watcher::WatchMode mode,
                     std::function<void(const std::exception& refusal)> on_forbidden) {
  ++lists_missing_;
  const auto on_listed = [this, listed = false]() mutable {
    if (!std::exchange(listed, true)) --lists_missing_;
  };
  watcher_.Add(path, mode,
               {.fresh = true, .on_listed = on_listed, .on_forbidden = std::move(on_forbidden)});
}

void Informer::Handle(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  if (!leader_) return pipeline_.Handle(event);
  const auto before = changes_.Next();
  changes_.Handle(event);
  const auto next = changes_.Next();
  if (next && (!before || *next < *before)) kept_.notify_one();
}

void Informer::PassDue(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mutex_);
    kept_.notify_all();
  });
  const MutexLock lock(mutex_);
  while (!stop.stop_requested()) {
    changes_.PassDue();
    if (const auto next = changes_.Next()) {
      kept_.wait_until(mutex_, *next);
    } else {
      kept_.wait(mutex_);
    }
  }
}

std::optional<PacedChanges::Waiting> Informer::FindWaiting(const std::string& lane) {
  const MutexLock lock(mutex_);
  return changes_.FirstOf(lane);
}

PacedChanges::Figures Informer::paced() {
  const MutexLock lock(mutex_);
  return changes_.figures();
}

void Informer::Wake(const Key& key) {
  if (leader_) leader_->wake(key);
}

void Informer::Lead(Leader leader) {
  const auto next = std::make_shared<const Leader>(std::move(leader));
  {
    const MutexLock lock(mutex_);
    next_ = next;
  }
  watcher_.CatchUp([this, next] { OnCaughtUp(next); });
  watcher_.Start();
}

/// A plan on a pod goes before the addresses of a claim.
void Informer::OnCaughtUp(const std::shared_ptr<const Leader>& leader) {
  const MutexLock lock(mutex_);
  if (next_ != leader) return;
  EndLeader();
  leader_ = std::move(next_);
  next_.reset();
  const std::string uid = namespaces_.UidOf("kube-system");
  ServerSharer* const sharer = leader->backend.facets().sharer;
  if (sharer != nullptr && !uid.empty()) sharer->SetClusterUid(uid);
  // Before pods, or a pod's port would be written without its policies.
  policies_.StartTelling(leader->backend.facets().policies);
  nodes_.StartTelling(leader->backend);
  pods_.StartTelling(leader->backend, leader->places);
  claims_.StartKeeping(leader->backend);
  namespaces_.StartTelling(leader->backend);
  services_.StartTelling(leader->backend.facets().services);
  leader->begin();
}

void Informer::Follow(const Backend& backend) {
  const MutexLock lock(mutex_);
  if (next_ && &next_->backend == &backend) next_.reset();
  if (leader_ && &leader_->backend == &backend) EndLeader();
}

/// The stores know all that the API server has told, or the next leader would not.
void Informer::EndLeader() {
  leader_.reset();
  policies_.StopTelling();
  nodes_.StopTelling();
  pods_.StopTelling();
  claims_.StopKeeping();
  namespaces_.StopTelling();
  services_.StopTelling();
  changes_.PassAll();
}

}  // namespace kuryr::controller
