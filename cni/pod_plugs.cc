#include "cni/pod_plugs.h"

#include <utility>

#include "cni/disconnect.h"

namespace kuryr::cni {

void PodPlugs::Plug(const std::vector<vif::PodVif>& vifs, const std::string& pod_uid) {
  AttachmentRecord record = *attachment_.record();
  record.plugs.clear();
  record.vifs = vifs;
  if (record.pod_uid.empty()) record.pod_uid = pod_uid;
  for (const vif::PodVif& vif : vifs) record.plugs.push_back(binding_.Plan(vif.vif, vif.ifname));
  attachment_.Write(record);

  for (size_t i = 0; i < vifs.size(); ++i) {
    ++touched_;
    auto interfaces = Connect(vifs[i], record.plugs[i]);
    plugged_.push_back(
        {.vif = vifs[i], .plug = record.plugs[i], .interfaces = std::move(interfaces)});
  }
}

std::vector<binding::Interface> PodPlugs::Connect(const vif::PodVif& vif,
                                                  const binding::Plug& plug) {
  try {
    return binding_.Connect(vif.vif, plug, attachment_.record()->attachment(), pod_, vif.is_default,
                            deadline_);
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

void PodPlugs::Update(const std::vector<vif::PodVif>& vifs) {
  for (size_t i = 0; i < plugged_.size(); ++i) plugged_[i].vif = vifs[i];
}

}  // namespace kuryr::cni
