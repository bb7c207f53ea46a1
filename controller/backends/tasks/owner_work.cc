#include "controller/backends/tasks/owner_work.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace kuryr::controller::tasks {
namespace {

using std::chrono::milliseconds;

/// While another controller may lead.
constexpr std::chrono::seconds kMayWriteAgain{1};
/// A server that asks for more patience is asked again after this.
constexpr std::chrono::seconds kLongestRetryAfter{120};

}  // namespace

OwnerWork::OwnerWork(Hooks hooks, Times times, size_t threads)
    : hooks_(std::move(hooks)), times_(times) {
  threads_.reserve(threads);
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

void OwnerWork::Stop() {
  queue_.ShutDown();
  threads_.clear();
}

OwnerWork::Opened OwnerWork::Open(const Owner& owner) {
  const auto [entry, is_new] = slots_.try_emplace(owner.id);
  Slot& slot = entry->second;
  const bool begins = is_new || slot.life == Life::kReleased;
  if (begins) slot = Slot();
  if (!owner.name.empty() || begins) slot.request.owner = owner;
  if (begins) return Opened::kNew;
  return slot.life == Life::kHeld ? Opened::kHeld : Opened::kReleasing;
}

bool OwnerWork::IsKnown(const std::string& id) const { return slots_.contains(id); }

bool OwnerWork::IsHeld(const std::string& id) const {
  const auto entry = slots_.find(id);
  return entry != slots_.end() && entry->second.life == Life::kHeld;
}

OwnerWork::Slot* OwnerWork::HeldSlot(const std::string& id) {
  return IsHeld(id) ? &slots_.at(id) : nullptr;
}

void OwnerWork::Plan(const PlanRequest& request) {
  Slot* const slot = HeldSlot(request.owner.id);
  if (!slot) return;
  const auto now = Clock::now();
  const auto& failure = slot->failure;
  if (failure && failure->interfaces == request.interfaces && now < failure->until) {
    throw PlanError(failure->error.kind(), failure->error.what(),
                    std::chrono::ceil<milliseconds>(failure->until - now));
  }
  slot->failure.reset();
  const bool is_queued = slot->request.interfaces == request.interfaces;
  slot->request = request;
  if (!is_queued) queue_.Add(request.owner.id);
}

void OwnerWork::Verify(const std::string& id) {
  Slot* const slot = HeldSlot(id);
  if (!slot) return;
  slot->doubted = true;
  queue_.Add(id);
}

void OwnerWork::Update(const std::string& id) {
  Slot* const slot = HeldSlot(id);
  if (!slot) return;
  slot->outdated = true;
  queue_.Add(id);
}

void OwnerWork::SearchAfter(const std::string& id, Clock::duration delay) {
  Slot* const slot = HeldSlot(id);
  if (!slot) return;
  slot->search_at = Clock::now() + delay;
  queue_.AddAfter(id, delay);
}

bool OwnerWork::Release(const std::string& id) {
  const auto entry = slots_.find(id);
  if (entry == slots_.end()) return true;
  Slot& slot = entry->second;
  if (slot.life == Life::kReleased) {
    slots_.erase(entry);
    return true;
  }
  if (slot.life == Life::kHeld) queue_.Add(id);
  slot.life = Life::kReleasing;
  return false;
}

std::optional<milliseconds> OwnerWork::RestOf(const PlanError& error) {
  const auto asked = error.retry_after();
  if (!asked) return std::nullopt;
  return std::min<milliseconds>(*asked, kLongestRetryAfter);
}

void OwnerWork::Work() {
  while (const auto item = queue_.Get()) {
    try {
      Round(item->key);
    } catch (const std::exception& e) {
      Log(LogLevel::kError, "a round failed; it will be tried again",
          {{"owner", item->key}, {"error", e.what()}});
      queue_.AddRateLimited(item->key);
    }
    queue_.Done(item->key);
  }
}

void OwnerWork::Round(const std::string& id) {
  if (!hooks_.may_write()) return queue_.AddAfter(id, kMayWriteAgain);
  PlanRequest request;
  const auto task = Begin(id, request);
  if (task) Finish(*task, request, hooks_.run(*task, request));
}

std::optional<OwnerWork::Task> OwnerWork::Begin(const std::string& id, PlanRequest& request) {
  const MutexLock lock(mutex_);
  const auto now = Clock::now();
  if (now < throttled_until_) {
    queue_.AddAfter(id, throttled_until_ - now);
    return std::nullopt;
  }
  const auto entry = slots_.find(id);
  if (entry == slots_.end()) return std::nullopt;
  Slot& slot = entry->second;
  request = slot.request;
  if (slot.life == Life::kReleasing) return Task::kRelease;
  if (slot.life == Life::kReleased) return std::nullopt;
  if (std::exchange(slot.doubted, false)) return Task::kVerify;
  if (std::exchange(slot.outdated, false)) return Task::kUpdate;
  if (!request.interfaces.empty()) return Task::kPlan;
  if (!slot.search_at) return std::nullopt;
  if (now >= *slot.search_at) return Task::kSearch;
  queue_.AddAfter(id, *slot.search_at - now);
  return std::nullopt;
}

void OwnerWork::Finish(Task task, const PlanRequest& request,
                       const std::optional<PlanError>& error) {
  Owner owner;
  {
    const MutexLock lock(mutex_);
    Slot& slot = slots_.at(request.owner.id);
    owner = slot.request.owner;
    if (task == Task::kSearch) slot.search_at.reset();
    if (task == Task::kPlan) {
      FinishPlan(slot, request, error);
      // The plan may have had the search's place in the queue.
      if (slot.search_at)
        queue_.AddAfter(owner.id, std::max(Clock::duration(), *slot.search_at - Clock::now()));
    } else if (error) {
      const auto delay = DelayOf(slot, *error);
      if (task == Task::kSearch) slot.search_at = Clock::now() + delay;
      if (task == Task::kUpdate) slot.outdated = true;
      queue_.AddAfter(owner.id, delay);
    } else if (task == Task::kRelease) {
      slot.life = Life::kReleased;
    } else if (task != Task::kSearch && !slot.request.interfaces.empty()) {
      queue_.Add(owner.id);
    }
    // It may have had a place in the queue with the task that has ended.
    if (slot.outdated && (!error || task != Task::kUpdate)) queue_.Add(owner.id);
  }
  hooks_.wake(owner);
}

void OwnerWork::FinishPlan(Slot& slot, const PlanRequest& request,
                           const std::optional<PlanError>& error) {
  if (slot.request.interfaces == request.interfaces) {
    slot.request.interfaces.clear();
    slot.request.labels.clear();
    slot.request.node_networks.clear();
  }
  if (error) {
    // A text of its own: a copied exception shares its text with the thread that threw it.
    slot.failure = Failure{PlanError(error->kind(), error->what(), error->retry_after()),
                           request.interfaces, Clock::now() + DelayOf(slot, *error)};
  } else {
    slot.backoff.reset();
  }
}

OwnerWork::Clock::duration OwnerWork::DelayOf(Slot& slot, const PlanError& error) {
  if (!slot.backoff)
    slot.backoff = std::make_unique<Backoff>(times_.retry_least, times_.retry_most);
  const milliseconds delay = slot.backoff->Next();
  const auto rest = RestOf(error);
  if (!rest) return delay;
  throttled_until_ = Clock::now() + *rest;
  return std::max(delay, *rest);
}

}  // namespace kuryr::controller::tasks
