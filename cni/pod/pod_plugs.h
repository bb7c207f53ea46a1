#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "binding/drivers/binding.h"
#include "cni/attachments/attachment_store.h"
#include "cni/pod/pod_result.h"

namespace kuryr::cni {

/// The VIFs of one attachment as they are plugged: in the record before each change, all or
/// nothing. Not thread-safe.
class PodPlugs {
 public:
  /// Everything is borrowed; `attachment` is locked and has a record.
  PodPlugs(binding::Binding& binding, LockedAttachment& attachment, const binding::Netns& pod,
           const Deadline& deadline)
      : binding_(binding), attachment_(attachment), pod_(pod), deadline_(deadline) {}

  /// Writes what is to be plugged to the record. Nothing may be plugged. `pod_uid` is for runtimes
  /// that do not tell it. Throws what Plan of the drivers throws.
  void Plan(const std::vector<vif::PodVif>& vifs, const std::string& pod_uid = {});
  /// The same of one VIF that gets its addresses by Configure. A delegated plugin that will give
  /// them has its configuration in the record from now on.
  void PlanLink(const vif::PodVif& vif, std::string delegate_config);
  /// Plugs what is planned. Throws what Connect of the drivers throws; what was touched by then is
  /// Unplug's.
  void Plug();
  /// What PlanLink left open, for the VIF that is plugged: `vif` is the same with addresses and
  /// routes, `more_routes` are those that a VIF has no words for. Throws MalformedVif, ParseError
  /// and what ConfigureL3 throws.
  void Configure(const vif::PodVif& vif, const std::vector<binding::LinkRoute>& more_routes);
  /// Throws the first failure after having tried all.
  void Unplug();

  /// As Binding::WaitUntilWired, of what is plugged.
  void WaitUntilWired();
  /// As Binding::DescribeWiring; empty where that cannot be found out soon.
  [[nodiscard]] std::string DescribeWiring() noexcept;
  /// As Binding::Announce, of what is plugged; what fails is logged. For when all is wired:
  /// earlier, nobody hears it.
  void Announce() noexcept;

  /// What Plan decided, in the order of the VIFs.
  [[nodiscard]] const std::vector<binding::Planned>& planned() const { return planned_; }
  [[nodiscard]] const std::vector<PluggedVif>& plugged() const { return plugged_; }
  /// As they were told last.
  [[nodiscard]] std::vector<vif::PodVif> vifs() const;
  /// The same plan, told anew.
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
  size_t touched_ = 0;  ///< how many of the record's plugs may have left something
};

}  // namespace kuryr::cni
