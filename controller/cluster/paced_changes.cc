#include "controller/cluster/paced_changes.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/rollback.h"
#include "controller/owners/lost_plan.h"
#include "controller/owners/pod_facts.h"
#include "policy/policy_work.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller {
namespace {

using watcher::EventType;
using watcher::WatchEvent;

/// The labels and annotations that somebody may have written by hand, and no node and controller.
size_t WishesOf(const WatchEvent& event) {
  const nlohmann::json& metadata = MemberAt(*event.object, "metadata");
  size_t hash = std::hash<nlohmann::json>()(MemberAt(metadata, "labels"));
  for (const auto& [key, value] : MemberAt(metadata, "annotations").items()) {
    if (key == vif::kVifAnnotation || key == kFormerAnnotation || key == kNetworkStatusAnnotation)
      continue;
    hash ^= std::hash<std::string>()(key) * 31 + std::hash<nlohmann::json>()(value);
  }
  return hash;
}

}  // namespace

std::optional<std::string> LaneOf(const WatchEvent& event) {
  if (event.kind == "Node" || event.kind == "KuryrPort") return std::nullopt;
  if (event.kind == "Namespace") return "labels of namespace " + event.name;
  if (event.name_space.empty()) return "admins' policies";
  if (event.kind == "Service" || event.kind == "EndpointSlice")
    return "Services of namespace " + event.name_space;
  return "namespace " + event.name_space;
}

std::chrono::nanoseconds PacedChanges::ThreadTime() {
  std::timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// An EndpointSlice comes in each version of its API. A name may be given to the next object while
/// the end of the former one waits.
PacedChanges::ObjectKey PacedChanges::KeyOf(const WatchEvent& event) {
  return {event.kind, StringAt(*event.object, "apiVersion"), event.name, event.uid};
}

/// Of a pod that is there, only labels and annotations are its user's. It has its port with its
/// node.
PacedChanges::Price PacedChanges::PriceOf(const WatchEvent& event) const {
  if (event.kind != "Pod") return Price::kAll;
  const auto known = pods_.find(event.uid);
  if (event.type == EventType::kDeleted || known == pods_.end()) return Price::kPeers;
  if (known->second.wishes != WishesOf(event)) return Price::kAll;
  return known->second.has_node == policy::HasNode(*event.object) ? Price::kNothing : Price::kPeers;
}

void PacedChanges::NotePod(const WatchEvent& event) {
  if (event.kind != "Pod") return;
  if (event.type == EventType::kDeleted) {
    pods_.erase(event.uid);
  } else {
    pods_[event.uid] = {.wishes = WishesOf(event), .has_node = policy::HasNode(*event.object)};
  }
}

void PacedChanges::Handle(const WatchEvent& event) {
  const auto name = LaneOf(event);
  if (!name) return hooks_.take(event);
  Sweep();
  const auto lane = lanes_.find(*name);
  const bool waits = lane != lanes_.end() && !lane->second.kept.empty();
  if (waits) return Keep(event, *lane);
  if (PriceOf(event) == Price::kNothing) return hooks_.take(event);
  Lanes::value_type& paying = *lanes_.try_emplace(*name).first;
  if (paying.second.paid_at > hooks_.now() + kCredit) return Keep(event, paying);
  Pass(event, paying.second);
}

/// An object that came and went while it waited is not heard of.
void PacedChanges::Keep(const WatchEvent& event, Lanes::value_type& named) {
  auto& [name, lane] = named;
  ++kept_;
  waiting_.insert(name);
  const ObjectKey key = KeyOf(event);
  const auto known = lane.by_object.find(key);
  if (known == lane.by_object.end()) {
    lane.kept.push_back({event, hooks_.now()});
    lane.by_object.emplace(key, std::prev(lane.kept.end()));
    return TellIfLong(named);
  }
  lane.has_repeated = lane.has_repeated || PriceOf(event) == Price::kAll;
  WatchEvent& kept = known->second->event;
  const bool is_new = kept.type == EventType::kAdded;
  if (is_new && event.type == EventType::kDeleted) {
    lane.kept.erase(known->second);
    lane.by_object.erase(known);
    if (lane.kept.empty()) waiting_.erase(name);
    return;
  }
  kept = event;
  if (is_new) kept.type = EventType::kAdded;
  TellIfLong(named);
}

void PacedChanges::TellIfLong(Lanes::value_type& named) {
  auto& [name, lane] = named;
  if (lane.is_told || hooks_.now() - lane.kept.front().since < kLong) return;
  lane.is_told = true;
  hooks_.tell(name);
}

void PacedChanges::Pay(Lane& lane, const std::function<void()>& pass, bool pays_all) {
  (void)hooks_.take_peers();
  const Rollback pay([&, before = hooks_.worked()]() noexcept {
    Clock::duration price = hooks_.take_peers() * kPausePerPeer;
    if (pays_all)
      price += std::max<Clock::duration>((hooks_.worked() - before) * kPausesPerWork, kLeastPause);
    if (price == Clock::duration::zero()) return;
    lane.pause = std::min<Clock::duration>(price * (1U << lane.doublings), kMostPause);
    lane.paid_at = std::max(lane.paid_at, hooks_.now()) + lane.pause;
  });
  pass();
}

void PacedChanges::Pass(const WatchEvent& event, Lane& lane) {
  const bool pays_all = PriceOf(event) == Price::kAll;
  NotePod(event);
  Pay(lane, [&] { hooks_.take(event); }, pays_all);
}

void PacedChanges::TakeFirst(Lane& lane) {
  const WatchEvent event = std::move(lane.kept.front().event);
  lane.kept.pop_front();
  lane.by_object.erase(KeyOf(event));
  NotePod(event);
  try {
    hooks_.take(event);
  } catch (const std::exception& e) {
    Log(LogLevel::kError, "event handler failed",
        {{"kind", event.kind},
         {"object", event.name_space + "/" + event.name},
         {"error", e.what()}});
  }
}

void PacedChanges::PassFirst(Lane& lane) {
  if (std::exchange(lane.has_repeated, false)) {
    lane.doublings = std::min(lane.doublings + 1, kMostDoublings);
  } else if (lane.doublings > 0) {
    --lane.doublings;
  }
  const auto is_dear = [&] { return PriceOf(lane.kept.front().event) == Price::kAll; };
  if (is_dear()) return Pay(lane, [&] { TakeFirst(lane); }, true);
  const auto pass = [&] {
    for (size_t i = 0; i < kMostTogether && !lane.kept.empty() && !is_dear(); ++i) TakeFirst(lane);
  };
  Pay(lane, pass, false);
}

void PacedChanges::PassDue() {
  for (auto name = waiting_.begin(); name != waiting_.end();) {
    Lanes::value_type& named = *lanes_.find(*name);
    Lane& lane = named.second;
    TellIfLong(named);
    while (!lane.kept.empty() && lane.paid_at <= hooks_.now() + kCredit) PassFirst(lane);
    name = lane.kept.empty() ? waiting_.erase(name) : std::next(name);
  }
}

std::optional<PacedChanges::Clock::time_point> PacedChanges::Next() const {
  std::optional<Clock::time_point> next;
  for (const std::string& name : waiting_) {
    const auto at = lanes_.at(name).paid_at - kCredit;
    next = std::min(next.value_or(at), at);
  }
  return next;
}

void PacedChanges::PassAll() {
  for (const std::string& name : std::exchange(waiting_, {})) {
    Lane& lane = lanes_.at(name);
    while (!lane.kept.empty()) PassFirst(lane);
  }
  lanes_.clear();
  pods_.clear();
}

void PacedChanges::Sweep() {
  const Clock::time_point now = hooks_.now();
  if (now < sweep_at_) return;
  sweep_at_ = now + kMostPause;
  std::erase_if(lanes_, [&](const auto& each) {
    return each.second.kept.empty() && each.second.paid_at <= now;
  });
}

std::optional<PacedChanges::Waiting> PacedChanges::FirstOf(const std::string& name) const {
  const auto lane = lanes_.find(name);
  if (lane == lanes_.end() || lane->second.kept.empty()) return std::nullopt;
  return Waiting{lane->second.kept.front().event,
                 std::chrono::ceil<std::chrono::seconds>(lane->second.pause)};
}

PacedChanges::Figures PacedChanges::figures() const {
  Figures figures{.lanes = waiting_.size(), .kept = kept_};
  const Clock::time_point now = hooks_.now();
  for (const std::string& name : waiting_) {
    const Lane& lane = lanes_.at(name);
    figures.waiting += lane.kept.size();
    figures.oldest = std::max(figures.oldest, now - lane.kept.front().since);
  }
  return figures;
}

}  // namespace kuryr::controller
