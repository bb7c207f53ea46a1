#include "controller/informer.h"

#include <set>
#include <utility>

#include "base/log.h"
#include "controller/owners/writer.h"
#include "watcher/failure_log.h"

namespace kuryr::controller {
namespace {

/// As with the roles of an older release: pods that need none of these are planned.
std::function<void(const std::exception& refusal)> OnForbidden(const WatchedPath& path) {
  if (path.refuse) {
    return [refuse = path.refuse](const std::exception& e) { refuse(WithMissingRight(e)); };
  }
  if (path.forbidden.empty()) return nullptr;
  return [resource = path.forbidden](const std::exception& e) {
    Log(LogLevel::kError, "may not be read, and counts as absent: what needs one gets no plan",
        {{"resource", resource}, {"error", WithMissingRight(e)}});
  };
}

}  // namespace

Informer::Informer(const Config& config)
    : kinds_(
          {.needs = config.backend->needs(),
           .node_network = config.node_network,
           .wake = [this](const Key& key) KURYR_TSA(requires_capability(mutex_)) { Wake(key); }}),
      changes_({.take = [this](const watcher::WatchEvent& event) { pipeline_.Handle(event); },
                .tell = [this](const std::string& lane)
                            KURYR_TSA(requires_capability(mutex_)) { Wake({kLane, lane}); },
                .take_peers = [this] { return kinds_.policies.TakeWork(); }}),
      watcher_(config.api.api, *this, watcher::LogFailures("watch failed", WithMissingRight)) {
  std::set<std::string> watched;
  for (const KindRow& row : kinds_.rows) {
    pipeline_.Register(row.kind);
    for (const WatchedPath& path : row.kind.Paths()) {
      if (watched.insert(path.path).second) Watch(path);
    }
  }
  pacer_ = std::jthread([this](const std::stop_token& stop) { PassDue(stop); });
}

/// The first list is of the present state already: a large set comes a page at a time. A list of
/// what the API server has at hand is all in one answer.
void Informer::Watch(const WatchedPath& path) {
  ++lists_missing_;
  const auto on_listed = [this, listed = false]() mutable {
    if (!std::exchange(listed, true)) --lists_missing_;
  };
  watcher_.Add(path.path, path.mode,
               {.fresh = true, .on_listed = on_listed, .on_forbidden = OnForbidden(path)});
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

void Informer::OnCaughtUp(const std::shared_ptr<const Leader>& leader) {
  const MutexLock lock(mutex_);
  if (next_ != leader) return;
  EndLeader();
  leader_ = std::move(next_);
  next_.reset();
  const std::string uid = kinds_.namespaces.UidOf("kube-system");
  ServerSharer* const sharer = leader->term.backend.facets().sharer;
  if (sharer != nullptr && !uid.empty()) sharer->SetClusterUid(uid);
  for (const KindRow& row : kinds_.rows) row.kind.BeginTerm(leader->term);
  leader->begin();
}

void Informer::Follow(const Backend& backend) {
  const MutexLock lock(mutex_);
  if (next_ && &next_->term.backend == &backend) next_.reset();
  if (leader_ && &leader_->term.backend == &backend) EndLeader();
}

/// The stores know all that the API server has told, or the next leader would not.
void Informer::EndLeader() {
  leader_.reset();
  for (const KindRow& row : kinds_.rows) row.kind.EndTerm();
  changes_.PassAll();
}

}  // namespace kuryr::controller
