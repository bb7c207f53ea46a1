#include "cni/pod/pod_plugs.h"

#include <chrono>
#include <exception>
#include <utility>

#include "base/log.h"
#include "cni/attachments/disconnect.h"

namespace kuryr::cni {
namespace {

/// For an ADD that is over.
constexpr std::chrono::seconds kDescribeTime{1};

}  // namespace

void PodPlugs::Plan(const std::vector<vif::PodVif>& vifs, const std::string& pod_uid) {
  AttachmentRecord record = *attachment_.record();
  record.plugs.clear();
  record.vifs = vifs;
  if (record.pod_uid.empty()) record.pod_uid = pod_uid;
  for (const vif::PodVif& vif : vifs) record.plugs.push_back(binding_.Plan(vif.vif, vif.ifname));
  attachment_.Write(std::move(record));
}

void PodPlugs::Plug() {
  const AttachmentRecord& record = *attachment_.record();
  for (size_t i = 0; i < record.vifs.size(); ++i) {
    ++touched_;
    auto interfaces = Connect(record.vifs[i], record.plugs[i]);
    plugged_.push_back(
        {.vif = record.vifs[i], .plug = record.plugs[i], .interfaces = std::move(interfaces)});
  }
}

std::vector<binding::Interface> PodPlugs::Connect(const vif::PodVif& vif,
                                                  const binding::Plug& plug) {
  try {
    return binding_.Connect({.vif = vif.vif,
                             .plug = plug,
                             .attachment = attachment_.record()->attachment(),
                             .pod = pod_,
                             .is_default = vif.is_default,
                             .deadline = deadline_});
  } catch (const binding::OvsUnreachable&) {
    --touched_;
    throw;
  }
}

void PodPlugs::Unplug() {
  if (touched_ == 0) return;
  AttachmentRecord made = *attachment_.record();
  // One whose Connect failed has undone itself, unless that failed as well.
  made.plugs.resize(touched_);
  DisconnectAll(binding_, made, Deadline::After(kUndoTime));
  plugged_.clear();
  touched_ = 0;
}

void PodPlugs::WaitUntilWired() {
  binding_.WaitUntilWired(Plugs(), attachment_.record()->attachment(), deadline_);
}

std::string PodPlugs::DescribeWiring() noexcept {
  try {
    return binding_.DescribeWiring(Plugs(), attachment_.record()->attachment(),
                                   Deadline::After(kDescribeTime));
  } catch (const std::exception& e) {
    Log(LogLevel::kDebug, "who wires the pod's ports is not known", {{"error", e.what()}});
    return "";
  }
}

std::vector<binding::Plug> PodPlugs::Plugs() const {
  std::vector<binding::Plug> plugs;
  plugs.reserve(plugged_.size());
  for (const PluggedVif& plugged : plugged_) plugs.push_back(plugged.plug);
  return plugs;
}

void PodPlugs::Update(const std::vector<vif::PodVif>& vifs) {
  for (size_t i = 0; i < plugged_.size(); ++i) plugged_[i].vif = vifs[i];
}

}  // namespace kuryr::cni
