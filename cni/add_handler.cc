#include "cni/add_handler.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cni/disconnect.h"
#include "cni/failure.h"
#include "watcher/api_error.h"

namespace kuryr::cni {
namespace {

bool IsActive(const vif::PodVif& vif) { return vif::Common(vif.vif).active.value_or(true); }

/// Equal but for `active`: the same plan.
bool SamePlan(const std::vector<PluggedVif>& plugged, const std::vector<vif::PodVif>& vifs) {
  const auto without_active = [](vif::PodVif vif) {
    vif::Common(vif.vif).active = true;
    vif::Common(vif.vif).envelope.changes.reset();
    return vif;
  };
  return std::equal(plugged.begin(), plugged.end(), vifs.begin(), vifs.end(),
                    [&](const PluggedVif& left, const vif::PodVif& right) {
                      return without_active(left.vif) == without_active(right);
                    });
}

std::string PodName(const Request& request) {
  return request.pod.name_space + "/" + request.pod.name;
}

/// A static pod's own UID is the hash of its manifest; its mirror at the API server has another.
std::string ConfigHash(const watcher::WatchEvent& event) {
  try {
    return event.object->at("metadata").at("annotations").at("kubernetes.io/config.hash");
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

}  // namespace

AddHandler::AddHandler(const Request& request, const binding::Netns& pod, binding::Binding& binding,
                       LockedAttachment& attachment, const Deadline& deadline)
    : ResourceEventHandler("Pod"),
      request_(request),
      pod_(pod),
      binding_(binding),
      attachment_(attachment),
      deadline_(deadline) {}

Result AddHandler::Wait() {
  std::array<pollfd, 2> fds = {{{.fd = done_.fd(), .events = POLLIN, .revents = 0},
                                {.fd = deadline_.cancel_fd, .events = POLLIN, .revents = 0}}};
  int ready = 0;
  do {
    ready = ::poll(fds.data(), fds.size(), static_cast<int>(deadline_.Remaining().count()));
  } while (ready < 0 && errno == EINTR);
  if ((fds[0].revents & POLLIN) == 0) throw GaveUp(ready > 0);
  const MutexLock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  return *result_;
}

CniError AddHandler::GaveUp(bool cancelled) {
  // An event that is being handled just now ends first: its deadline is the same.
  const MutexLock lock(mutex_);
  std::string what;
  switch (awaited_) {
    case Awaited::kPod:
      what = "the API server to tell of pod " + PodName(request_);
      break;
    case Awaited::kVif:
      what = "annotation " + std::string(vif::kVifAnnotation) + " on pod " + PodName(request_);
      break;
    case Awaited::kActive:
      what = "pod " + PodName(request_) + ": plugged, and waited for its VIF to become active";
      for (const PluggedVif& plugged : plugged_) {
        if (IsActive(plugged.vif)) continue;
        what += ": " + vif::VifNameOf(plugged.vif.vif).value_or(plugged.vif.ifname) + ", port " +
                Printable(vif::Common(plugged.vif.vif).id.value_or("?"));
      }
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

void AddHandler::OnPresent(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  if (failure_ || result_) return;
  try {
    Advance(event);
  } catch (...) {
    failure_ = std::current_exception();
  }
  if (failure_ || result_) done_.Set();
}

void AddHandler::OnDeleted(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  if (failure_ || result_ || (!request_.pod.uid.empty() && event.uid != request_.pod.uid)) return;
  failure_ = std::make_exception_ptr(
      CniError(ErrorCode::kUnknownContainer, "pod " + PodName(request_) + " was deleted"));
  done_.Set();
}

void AddHandler::CheckUid(const watcher::WatchEvent& event) const {
  const std::string& wanted = request_.pod.uid;
  if (wanted.empty() || event.uid == wanted || ConfigHash(event) == wanted) return;
  throw CniError(
      ErrorCode::kUnknownContainer, "pod " + PodName(request_) + " was replaced",
      "the runtime asks for uid " + wanted + ", the API server has " + Printable(event.uid));
}

void AddHandler::Advance(const watcher::WatchEvent& event) {
  CheckUid(event);
  awaited_ = std::max(awaited_, Awaited::kVif);
  last_watch_failure_ = nullptr;
  auto vifs = vif::VifsOf(*event.object);
  if (!vifs || vifs->empty()) return;

  for (vif::PodVif& vif : *vifs) {
    if (vif.is_default) vif.ifname = request_.ifname;
  }
  if (!SamePlan(plugged_, *vifs)) {
    Unplug();
    Plug(*vifs, event.uid);
  }
  for (size_t i = 0; i < plugged_.size(); ++i) plugged_[i].vif = (*vifs)[i];
  awaited_ = Awaited::kActive;
  if (std::all_of(vifs->begin(), vifs->end(), IsActive))
    result_ = MakeResult(plugged_, request_.netns);
}

void AddHandler::Plug(const std::vector<vif::PodVif>& vifs, const std::string& pod_uid) {
  AttachmentRecord record = *attachment_.record();
  record.plugs.clear();
  if (record.pod_uid.empty()) record.pod_uid = pod_uid;
  for (const vif::PodVif& vif : vifs) record.plugs.push_back(binding_.Plan(vif.vif, vif.ifname));
  attachment_.Write(record);

  for (size_t i = 0; i < vifs.size(); ++i) {
    auto interfaces = binding_.Connect(vifs[i].vif, record.plugs[i], record.attachment(), pod_,
                                       vifs[i].is_default, deadline_);
    plugged_.push_back({.vif = vifs[i], .interfaces = std::move(interfaces)});
  }
}

void AddHandler::Unplug() {
  if (plugged_.empty()) return;
  AttachmentRecord made = *attachment_.record();
  // One whose Connect failed has undone itself.
  made.plugs.resize(plugged_.size());
  plugged_.clear();
  DisconnectAll(binding_, made, Deadline::After(kUndoTime));
}

void AddHandler::Undo() {
  const MutexLock lock(mutex_);
  Unplug();
}

}  // namespace kuryr::cni
