#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "binding/drivers/binding.h"
#include "cni/attachments/attachment_store.h"
#include "cni/pod/pod_result.h"

namespace kuryr::cni {

/// Plugs the VIFs of one attachment, all or nothing. The record names each plug before it is made.
/// Not thread-safe.
class PodPlugs {
 public:
  /// Everything is borrowed; `attachment` is locked and has a record.
  PodPlugs(binding::Binding& binding, LockedAttachment& attachment, const binding::Netns& pod,
           const Deadline& deadline)
      : binding_(binding), attachment_(attachment), pod_(pod), deadline_(deadline) {}

  /// Plans the plugs, and writes them to the record. No VIF may be plugged yet. `pod_uid` goes to
  /// the record when the runtime did not send it. Throws what Plan of the drivers throws.
  void Plan(const std::vector<vif::PodVif>& vifs, const std::string& pod_uid = {});
  /// Plans one VIF that gets its addresses by Configure. Writes to the record the configuration of
  /// the delegated plugin that will give them.
  void PlanLink(const vif::PodVif& vif, std::string delegate_config);
  /// Plugs what is planned. Throws what Connect of the drivers throws; Unplug then removes what was
  /// made.
  void Plug();
  /// Gives the plugged VIF of PlanLink its layer 3. `vif` is the same VIF with addresses and
  /// routes, and `more_routes` are routes that a VIF cannot express. Throws MalformedVif,
  /// ParseError and what ConfigureL3 throws.
  void Configure(const vif::PodVif& vif, const std::vector<binding::LinkRoute>& more_routes);
  /// Throws the first failure after having tried all.
  void Unplug();

  /// As Binding::WaitUntilWired, for all plugs.
  void WaitUntilWired();
  /// As Binding::DescribeWiring; empty when that cannot be found out soon.
  [[nodiscard]] std::string DescribeWiring() noexcept;
  /// As Binding::Announce, for all plugs; a failure is logged. To be called when all is wired:
  /// before that, no neighbour hears it.
  void Announce() noexcept;

  /// The decisions of Plan, in the order of the VIFs.
  [[nodiscard]] const std::vector<binding::Planned>& planned() const { return planned_; }
  [[nodiscard]] const std::vector<PluggedVif>& plugged() const { return plugged_; }
  /// The plugged VIFs, as last given.
  [[nodiscard]] std::vector<vif::PodVif> vifs() const;
  /// Replaces the VIFs by those of the same plan in a newer event.
  void Update(const std::vector<vif::PodVif>& vifs);

  [[nodiscard]] const binding::Netns& pod() const { return pod_; }
  [[nodiscard]] LockedAttachment& attachment() { return attachment_; }

 private:
  void Plan(const std::vector<vif::PodVif>& vifs, AttachmentRecord record);
  [[nodiscard]] std::vector<binding::Interface> Connect(const binding::Planned& planned);
  [[nodiscard]] std::vector<binding::Plug> Plugs() const;

  binding::Binding& binding_;
  LockedAttachment& attachment_;
  const binding::Netns& pod_;
  const Deadline deadline_;
  std::vector<binding::Planned> planned_;
  std::vector<PluggedVif> plugged_;
  binding::PortWiring::Who wired_by_ = binding::PortWiring::Who::kNobody;
  size_t touched_ = 0;  ///< how many of the record's plugs may have left something
};

}  // namespace kuryr::cni
