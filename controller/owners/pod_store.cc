#include "controller/owners/pod_store.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/owners/plan_verdict.h"

namespace kuryr::controller {
namespace {

bool Waits(const PodFacts& pod) { return NeedsPlan(pod) && !pod.plan.active; }

bool IsAt(const KnownPod& known, const std::string& uid, const std::string& version) {
  return known.pod && known.pod->uid == uid && known.pod->version == version;
}

/// The time since when the pod waits for an active plan.
std::chrono::steady_clock::time_point SeenSince(const PodFacts* before, const PodFacts& now) {
  const bool waited = before != nullptr && before->uid == now.uid && Waits(*before);
  return waited ? before->seen : std::chrono::steady_clock::now();
}

}  // namespace

bool KnownPod::IsPlanned() const { return pod && PlanOf(*this).present; }

bool KnownPod::IsToBePlanned() const { return pod && NeedsPlan(*pod); }

std::vector<WatchedPath> PodStore::Paths() {
  return {{.path = "/api/v1/pods", .mode = watcher::WatchMode::kSet},
          {.path = "/apis/openstack.org/v1/kuryrports"}};
}

std::vector<std::pair<watcher::KeyFn, std::string>> PodStore::Consumes() const {
  return {{watcher::ObjectKind, "Pod"}, {watcher::ObjectKind, "KuryrPort"}};
}

/// Tells every plan before the addresses that pods may have beside their plans.
void PodStore::BeginTerm(const Term& term) {
  const MutexLock lock(mutex_);
  backend_ = &term.backend;
  places_ = term.places;
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
    JudgePort(term.backend, places_, known);
    wake_({Key::kPod, key});
  }
  for (auto& [key, known] : known_) TellRest(known);
}

void PodStore::WriteTo(service::MetricsText& text) const {
  const PlanCounts pods = Count();
  text.Head("kuryr_controller_pods", "gauge", "Scheduled pods with a network of their own.");
  text.Sample("kuryr_controller_pods", {{"state", "planned"}}, static_cast<double>(pods.planned));
  text.Sample("kuryr_controller_pods", {{"state", "waiting"}}, static_cast<double>(pods.waiting));
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

void PodStore::Handle(const watcher::WatchEvent& event) {
  const Key key = Key::OfPod(event.name_space, event.name);
  if (event.kind != "Pod") {
    HandlePort(event);
  } else if (event.type != watcher::EventType::kDeleted &&
             IsAt(Find(key.object), event.uid, event.resource_version)) {
    return;  // This process wrote it; its round went on with the answer.
  } else {
    HandlePod(event);
  }
  wake_(key);
}

void PodStore::LearnPod(const watcher::WatchEvent& pod, const std::string& base, const Plan& plan) {
  const auto facts = std::make_shared<PodFacts>(ReadPod(pod, plan, label_keys_));
  Learn(KeyOf(pod.name_space, pod.name), [&](Known& known) KURYR_TSA(requires_capability(mutex_)) {
    if (!IsAt(known, pod.uid, base)) return;
    facts->seen = known.pod->seen;
    Tell(*facts);
    known.pod = facts;
  });
}

void PodStore::LearnPort(nlohmann::json kuryrport) {
  const watcher::WatchEvent event =
      watcher::MakeEvent(watcher::EventType::kAdded, std::move(kuryrport));
  const auto facts = std::make_shared<PortFacts>(ReadPort(event));
  const std::string key = KeyOf(event.name_space, event.name);
  Learn(key, [&](Known& known) KURYR_TSA(requires_capability(mutex_)) {
    if (known.port || !known.pod || known.pod->uid != facts->pod_uid) return;
    known.port = facts;
  });
}

void PodStore::ForgetPort(const std::string& key, const std::string& uid) {
  Learn(key, [&](Known& known) KURYR_TSA(requires_capability(mutex_)) {
    if (!known.port || known.port->uid != uid) return;
    known.port.reset();
    known.ended_port = uid;
  });
}

template <typename Change>
void PodStore::Learn(const std::string& key, const Change& change) {
  Update(key, [&](Known& known) KURYR_TSA(requires_capability(mutex_)) {
    change(known);
    if (backend_ == nullptr) return;
    JudgePort(*backend_, places_, known);
    TellRest(known);
  });
}

void PodStore::HandlePod(const watcher::WatchEvent& event) {
  std::shared_ptr<PodFacts> facts;
  if (event.type != watcher::EventType::kDeleted)
    facts = std::make_shared<PodFacts>(ReadPod(event, PlanOn(event), label_keys_));
  Learn(KeyOf(event.name_space, event.name),
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
  if (event.type != watcher::EventType::kDeleted)
    facts = std::make_shared<PortFacts>(ReadPort(event));
  const std::string key = KeyOf(event.name_space, event.name);
  Learn(key, [&](Known& known) KURYR_TSA(requires_capability(mutex_)) {
    if (facts && facts->uid == known.ended_port) return;
    known.ended_port.clear();
    known.port = std::move(facts);
  });
}

}  // namespace kuryr::controller
