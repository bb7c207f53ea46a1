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
    auto interfaces = binding_.Connect(vifs[i].vif, record.plugs[i], record.attachment(), pod_,
                                       vifs[i].is_default, deadline_);
    plugged_.push_back(
        {.vif = vifs[i], .plug = record.plugs[i], .interfaces = std::move(interfaces)});
  }
}

void PodPlugs::Unplug() {
  if (plugged_.empty()) return;
  AttachmentRecord made = *attachment_.record();
  // One whose Connect failed has undone itself.
  made.plugs.resize(plugged_.size());
  plugged_.clear();
  DisconnectAll(binding_, made, Deadline::After(kUndoTime));
}

void PodPlugs::Update(const std::vector<vif::PodVif>& vifs) {
  for (size_t i = 0; i < plugged_.size(); ++i) plugged_[i].vif = vifs[i];
}

}  // namespace kuryr::cni
