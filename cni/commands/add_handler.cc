#include "cni/commands/add_handler.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "base/error.h"
#include "cni/attachments/identity.h"
#include "cni/failure.h"
#include "watcher/api_error.h"

namespace kuryr::cni {
namespace {

/// The watch may lag so far behind the runtime.
constexpr std::chrono::milliseconds kWatchLag{500};
/// A producer takes a second or two. After this time, the reporter tells that the ADD waits.
constexpr std::chrono::seconds kQuietTime{5};

/// Only `active` may differ in the same plan.
bool SamePlan(const std::vector<PluggedVif>& plugged, const std::vector<vif::PodVif>& vifs) {
  const auto without_active = [](vif::PodVif vif) {
    vif::Common(vif.vif).active = true;
    return vif;
  };
  return std::equal(plugged.begin(), plugged.end(), vifs.begin(), vifs.end(),
                    [&](const PluggedVif& left, const vif::PodVif& right) {
                      return without_active(left.vif) == without_active(right);
                    });
}

/// The producer has decided: another MAC or address would get no packets.
void RequireWishes(const Request& request, const binding::Planned& planned) {
  const auto& mac = request.wishes.mac;
  if (mac && planned.mac != *mac) {
    throw CniError(ErrorCode::kUnsupportedField,
                   "the plan of pod " + request.pod.key() + " has another mac than " +
                       mac->ToString() + ", which the pod asks for",
                   "ask the plan's producer for it, or drop it from the pod's annotation");
  }
  const auto& addresses = planned.l3.addresses;
  for (const IpNetwork& ip : request.wishes.ips) {
    const bool planned_too =
        std::any_of(addresses.begin(), addresses.end(),
                    [&](const auto& known) { return known.network.address == ip.address; });
    if (!planned_too) {
      throw CniError(ErrorCode::kUnsupportedField,
                     "the plan of pod " + request.pod.key() + " has other ips than " +
                         ip.ToString() + ", which the pod asks for",
                     "ask the plan's producer for it, or drop it from the pod's annotation");
    }
  }
}

}  // namespace

AddHandler::AddHandler(const Call& call, PodPlugs& plugs, PodReporter& reporter)
    : request_(call.request),
      plugs_(plugs),
      devices_({.config = call.config.devices,
                .attachments = call.node.attachments,
                .request = call.request,
                .deadline = call.deadline}),
      attachments_(call.node.attachments),
      on_planned_(call.on_planned),
      events_(call.events),
      reporter_(reporter),
      stages_(call.stages),
      deadline_(call.deadline) {}

AddHandler::Ended AddHandler::WaitUntil(const Deadline& deadline) const {
  std::array<pollfd, 2> fds = {{{.fd = done_.fd(), .events = POLLIN, .revents = 0},
                                {.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0}}};
  int ready = 0;
  do {
    ready = ::poll(fds.data(), fds.size(), static_cast<int>(deadline.Remaining().count()));
  } while (ready < 0 && errno == EINTR);
  if ((fds[0].revents & POLLIN) != 0) return Ended::kDone;
  return ready > 0 ? Ended::kCancelled : Ended::kTimedOut;
}

Result AddHandler::Wait() {
  Ended ended = WaitUntil(deadline_.AtMost(kWatchLag));
  while (ended == Ended::kTimedOut && deadline_.Remaining().count() > 0) {
    RequirePodIsThere();
    ended = WaitUntil(deadline_.AtMost(kQuietTime));
    if (ended == Ended::kTimedOut && TellAwaited()) ended = WaitUntil(deadline_);
  }
  if (ended != Ended::kDone) throw GaveUp(ended == Ended::kCancelled);
  const MutexLock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  return *result_;
}

void AddHandler::RequirePodIsThere() {
  const auto is_unknown = [&] {
    const MutexLock lock(mutex_);
    return awaited_ == Awaited::kPod;
  };
  if (!is_unknown() || !events_.IsGone(request_.pod)) return;
  // Meanwhile an event has named the pod, so another event will report its end.
  if (!is_unknown()) return;
  throw CniError(ErrorCode::kUnknownContainer, "pod " + request_.pod.key() + " is gone",
                 "the API server has no pod of uid " + request_.pod.uid);
}

bool AddHandler::TellAwaited() {
  const MutexLock lock(mutex_);
  if (awaited_ == Awaited::kVif) reporter_.OnAwaitingVifs();
  return awaited_ != Awaited::kPod;
}

CniError AddHandler::GaveUp(bool cancelled) {
  // The handling of an event ends first: it has the same deadline.
  const MutexLock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  std::string what;
  switch (awaited_) {
    case Awaited::kPod:
      what = "the API server to tell of pod " + request_.pod.key();
      break;
    case Awaited::kVif:
      what = "annotation " + std::string(vif::kVifAnnotation) + " on pod " + request_.pod.key() +
             ", or its KuryrPort";
      break;
    case Awaited::kActive:
      what = "pod " + request_.pod.key() + ": plugged, and waited for its VIF to become active";
      for (const PluggedVif& plugged : plugs_.plugged()) {
        if (vif::IsActive(plugged.vif)) continue;
        what += ": " + vif::VifNameOf(plugged.vif.vif).value_or(plugged.vif.ifname) + ", port " +
                Printable(vif::Common(plugged.vif.vif).id.value_or("?"));
      }
      if (const std::string wiring = plugs_.DescribeWiring(); !wiring.empty())
        what += "; " + wiring;
      break;
  }
  std::string details;
  if (last_watch_failure_) details = AsCniError(last_watch_failure_).what();
  return {ErrorCode::kTryAgainLater,
          (cancelled ? "cancelled while waiting for " : "timed out waiting for ") + what, details};
}

void AddHandler::OnWatchFailure(const std::exception_ptr& failure) {
  const MutexLock lock(mutex_);
  last_watch_failure_ = failure;
  if (AsCniError(failure).code() != ErrorCode::kApiRefused || failure_ || result_) return;
  failure_ = failure;
  done_.Set();
}

void AddHandler::OnPresent(const PlannedPod& pod) {
  const MutexLock lock(mutex_);
  if (failure_ || result_) return;
  try {
    Advance(pod);
  } catch (...) {
    failure_ = std::current_exception();
  }
  if (failure_ || result_) done_.Set();
}

void AddHandler::OnDeleted(const std::string& uid) {
  const MutexLock lock(mutex_);
  const std::string& wanted = request_.pod.uid;
  const bool is_older = wanted.empty() ? awaited_ == Awaited::kPod : uid != wanted;
  if (failure_ || result_ || is_older) return;
  failure_ = std::make_exception_ptr(
      CniError(ErrorCode::kUnknownContainer, "pod " + request_.pod.key() + " was deleted"));
  done_.Set();
}

bool AddHandler::IsWanted(const PlannedPod& pod) {
  const std::string& wanted = request_.pod.uid;
  // A runtime that sends no UID means the current pod. Only the first pod of this name may be an
  // older one.
  if (wanted.empty()) return awaited_ != Awaited::kPod || events_.IsCurrent(pod);
  if (pod.uid == wanted || pod.manifest_hash == wanted) return true;
  if (!events_.IsCurrent(pod)) return false;
  throw CniError(
      ErrorCode::kUnknownContainer, "pod " + request_.pod.key() + " was replaced",
      "the runtime asks for uid " + wanted + ", the API server has " + Printable(pod.uid));
}

void AddHandler::Advance(const PlannedPod& pod) {
  if (!IsWanted(pod)) return;
  awaited_ = std::max(awaited_, Awaited::kVif);
  last_watch_failure_ = nullptr;
  if (!pod.plan || pod.plan->vifs().empty()) return;

  std::vector<vif::PodVif> vifs = pod.plan->vifs();
  for (vif::PodVif& vif : vifs) {
    if (vif.is_default) vif.ifname = request_.ifname;
  }
  devices_.Assign(vifs);
  const bool new_plan = !SamePlan(plugs_.plugged(), vifs);
  if (new_plan) {
    stages_.OnStage(Stage::kPlug);
    plugs_.Unplug();
    plugs_.Plan(vifs, pod.uid);
    // The default VIF is the first one.
    RequireWishes(request_, plugs_.planned().front());
    RequireOwnIdentity(*plugs_.attachment().record(), attachments_);
    if (on_planned_) on_planned_(*plugs_.attachment().record());
    plugs_.Plug();
  }
  plugs_.Update(vifs);
  const bool first = awaited_ != Awaited::kActive;
  awaited_ = Awaited::kActive;
  if (std::all_of(vifs.begin(), vifs.end(), vif::IsActive)) {
    result_ = MakeResult(plugs_.plugged(), request_.netns);
    return;
  }
  if (new_plan) stages_.OnStage(Stage::kWaitActive);
  if (first) reporter_.OnWaiting(plugs_.plugged());
}

}  // namespace kuryr::cni
