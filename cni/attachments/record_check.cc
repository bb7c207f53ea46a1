#include "cni/attachments/record_check.h"

namespace kuryr::cni {

std::optional<binding::Netns> FindNetnsOf(const AttachmentRecord& record) {
  auto pod = binding::Netns::OpenIfExists(record.netns);
  if (pod && pod->id() != record.netns_id) pod.reset();
  return pod;
}

binding::Planned RecordCheck::PlanOf(size_t vif) const {
  const vif::PodVif& pod_vif = record_.vifs.at(vif);
  return binding_.PlanWith(pod_vif, record_.plugs.at(vif), record_.LimitsOf(pod_vif));
}

binding::Differences RecordCheck::Check(size_t vif, const Change& change) const {
  binding::Planned planned = PlanOf(vif);
  if (change) change(planned);
  return binding_.Check(
      {.planned = planned, .attachment = record_.attachment(), .pod = pod_, .deadline = deadline_});
}

binding::Differences RecordCheck::Repair(size_t vif) const {
  const binding::Planned planned = PlanOf(vif);
  return binding_.Repair(
      {.planned = planned, .attachment = record_.attachment(), .pod = pod_, .deadline = deadline_});
}

}  // namespace kuryr::cni
