#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "cni/attachments/attachment_store.h"
#include "cni/pod/pod_config.h"
#include "cni/protocol/request.h"
#include "vif/pod_vifs.h"

namespace kuryr::cni {

/// Chooses devices for an ADD's VIFs that name none: the runtime's deviceID, or for a VIFSriov one
/// of the kubelet's devices for the pod. Not thread-safe.
class PodDevices {
 public:
  /// The ADD, and what the choice depends on. The references are borrowed.
  struct Sources {
    const DeviceConfig& config;
    const AttachmentStore& attachments;
    const Request& request;
    Deadline deadline;
  };

  explicit PodDevices(const Sources& sources) : sources_(sources) {}

  /// Sets the devices of `vifs`. A later call gives a VIF the same device. The first free device of
  /// the kubelet's is chosen. Throws CniError 2 for a deviceID that differs from the plan's, and 7
  /// for a deviceID that is no PCI address. Throws 7 for a physnet without a resource, and 11 when
  /// the kubelet has no device left.
  void Assign(std::vector<vif::PodVif>& vifs);

 private:
  using VifKey = std::pair<std::string, std::string>;  ///< interface, the VIF's id

  void GiveDeviceId(std::vector<vif::PodVif>& vifs) const;
  [[nodiscard]] vif::PciAddress AskKubelet(const vif::PodVif& vif,
                                           const std::set<vif::PciAddress>& taken) const;
  [[nodiscard]] std::string ResourceOf(const vif::PodVif& vif) const;
  /// The ids that the kubelet gave to the pod. Throws CniError 11 where there are none.
  [[nodiscard]] std::set<std::string> IdsOf(const std::string& resource,
                                            const vif::PodVif& vif) const;
  /// The devices of other attachments, each with the attachment's name.
  [[nodiscard]] std::map<vif::PciAddress, std::string> Held() const;
  [[nodiscard]] std::string Describe(const vif::PodVif& vif) const;

  const Sources sources_;
  std::map<VifKey, vif::PciAddress> chosen_;
};

}  // namespace kuryr::cni
