#include "controller/owners/pod_store.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/owners/plan_verdict.h"

namespace kuryr::controller {
namespace {

std::string UidOf(const PodStore::Known& known) { return known.pod ? known.pod->uid : ""; }

bool Waits(const PodFacts& pod) { return NeedsPlan(pod) && !pod.plan.active; }

bool IsAt(const PodStore::Known& known, const std::string& uid, const std::string& version) {
  return known.pod && known.pod->uid == uid && known.pod->version == version;
}

/// Since when the pod waits for a plan that is active.
std::chrono::steady_clock::time_point SeenSince(const PodFacts* before, const PodFacts& now) {
  const bool waited = before != nullptr && before->uid == now.uid && Waits(*before);
  return waited ? before->seen : std::chrono::steady_clock::now();
}

std::shared_ptr<PortFacts> ReadPort(const watcher::WatchEvent& event) {
  auto facts = std::make_shared<PortFacts>(PortFactsOf(event));
  facts->plan = Read(PlanOn(event));
  return facts;
}

}  // namespace

std::vector<std::pair<watcher::KeyFn, std::string>> PodStore::Consumes() const {
  return {{watcher::ObjectKind, "Pod"}, {watcher::ObjectKind, "KuryrPort"}};
}

/// Every plan goes before what pods may have beside theirs.
void PodStore::StartTelling(Backend& backend, const PlanPlaces& places) {
  const MutexLock lock(mutex_);
  backend_ = &backend;
  places_ = places;
  for (auto& [key, known] : known_) {
    if (known.pod) {
      const auto pod = std::make_shared<PodFacts>(*known.pod);
      Tell(*pod);
      known.pod = pod;
    }
    if (known.port) {
      const auto port = std::make_shared<PortFacts>(*known.port);
      port->judged = false;
      known.port = port;
    }
    JudgePort(backend, places, known);
    wake_(key);
  }
  for (auto& [key, known] : known_) TellRest(known);
}

void PodStore::Tell(PodFacts& pod) {
  if (backend_ != nullptr) Judge(*backend_, places_, pod);
}

void PodStore::TellRest(Known& known) {
  if (!known.pod) return;
  HeedOthers(*backend_, known);
  auto* keeper = backend_->facets().addresses;
  if (keeper == nullptr) return;
  const AddressKeeper::Beside beside = BesideOf(known);
  if (!beside.empty()) keeper->KeepBeside(known.pod->owner(), beside);
}

/// What is gone is nothing to the next backend, which has never heard of it.
void PodStore::StopTelling() {
  const MutexLock lock(mutex_);
  backend_ = nullptr;
  for (auto& [key, known] : known_) known.gone.clear();
  std::erase_if(known_, [](const auto& entry) { return !entry.second.pod && !entry.second.port; });
}

void PodStore::Handle(const watcher::WatchEvent& event) {
  const std::string key = KeyOf(event.name_space, event.name);
  if (event.kind != "Pod") {
    HandlePort(event);
  } else if (event.type != watcher::EventType::kDeleted &&
             IsAt(Find(key), event.uid, event.resource_version)) {
    return;  // Written here: its round went on with the answer.
  } else {
    HandlePod(event);
  }
  wake_(key);
}

void PodStore::LearnPod(const watcher::WatchEvent& pod, const std::string& base, const Plan& plan) {
  const std::shared_ptr<PodFacts> facts = ReadPod(pod, plan);
  Update(KeyOf(pod.name_space, pod.name), [&](Known& known) KURYR_TSA(requires_capability(mutex_)) {
    if (!IsAt(known, pod.uid, base)) return;
    facts->seen = known.pod->seen;
    Tell(*facts);
    known.pod = facts;
  });
}

void PodStore::LearnPort(nlohmann::json kuryrport) {
  const watcher::WatchEvent event =
      watcher::MakeEvent(watcher::EventType::kAdded, std::move(kuryrport));
  const std::shared_ptr<PortFacts> facts = ReadPort(event);
  const std::string key = KeyOf(event.name_space, event.name);
  Update(key, [&](Known& known) KURYR_TSA(requires_capability(mutex_)) {
    if (known.port || !known.pod || known.pod->uid != facts->pod_uid) return;
    known.port = facts;
  });
}

template <typename Change>
void PodStore::Update(const std::string& key, const Change& change) {
  const MutexLock lock(mutex_);
  Known& known = known_[key];
  const std::string before = UidOf(known);
  change(known);
  const std::string after = UidOf(known);
  std::erase(known.gone, after);
  if (backend_ != nullptr) {
    JudgePort(*backend_, places_, known);
    TellRest(known);
    if (!before.empty() && before != after) known.gone.push_back(before);
  }
  if (!known.pod && !known.port && known.gone.empty()) known_.erase(key);
}

std::shared_ptr<PodFacts> PodStore::ReadPod(const watcher::WatchEvent& event,
                                            const Plan& plan) const {
  auto facts = std::make_shared<PodFacts>(PodFactsOf(event, label_keys_));
  facts->plan = Read(plan);
  return facts;
}

void PodStore::HandlePod(const watcher::WatchEvent& event) {
  std::shared_ptr<PodFacts> facts;
  if (event.type != watcher::EventType::kDeleted) facts = ReadPod(event, PlanOn(event));
  Update(KeyOf(event.name_space, event.name),
         [&](Known& known) KURYR_TSA(requires_capability(mutex_)) {
           if (facts) {
             facts->seen = SeenSince(known.pod.get(), *facts);
             Tell(*facts);
           }
           known.pod = std::move(facts);
         });
}

void PodStore::HandlePort(const watcher::WatchEvent& event) {
  std::shared_ptr<PortFacts> facts;
  if (event.type != watcher::EventType::kDeleted) facts = ReadPort(event);
  const std::string key = KeyOf(event.name_space, event.name);
  Update(key, [&](Known& known)
                  KURYR_TSA(requires_capability(mutex_)) { known.port = std::move(facts); });
}

PodStore::Known PodStore::Find(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto known = known_.find(key);
  return known == known_.end() ? Known() : known->second;
}

void PodStore::ForgetGone(const std::string& key, const std::string& uid) {
  const MutexLock lock(mutex_);
  const auto known = known_.find(key);
  if (known == known_.end()) return;
  std::erase(known->second.gone, uid);
  if (!known->second.pod && !known->second.port && known->second.gone.empty()) known_.erase(known);
}

size_t PodStore::size() const {
  const MutexLock lock(mutex_);
  return known_.size();
}

PodStore::Counts PodStore::Count() const {
  Counts counts;
  const MutexLock lock(mutex_);
  for (const auto& [key, known] : known_) {
    if (!known.pod) continue;
    if (PlanOf(known).present) {
      ++counts.planned;
    } else if (NeedsPlan(*known.pod)) {
      ++counts.waiting;
    }
  }
  return counts;
}

}  // namespace kuryr::controller
