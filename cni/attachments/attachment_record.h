#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "binding/netns.h"
#include "binding/plan/attachment.h"
#include "cni/attachments/process.h"
#include "vif/pod_vifs.h"

namespace kuryr::cni {

/// The time to undo an attachment, whatever time the request itself has left.
inline constexpr std::chrono::seconds kUndoTime{15};

/// Identity of an attachment (CNI SPEC section 2): pods and namespaces come and go under the same
/// names.
struct AttachmentKey {
  std::string network;
  std::string container_id;
  std::string ifname;

  bool operator==(const AttachmentKey&) const = default;
};

/// "NETWORK:CONTAINER_ID:IFNAME". None of the three may have a ':'.
[[nodiscard]] std::string ToString(const AttachmentKey& key);
/// Null for a text of another form.
[[nodiscard]] std::optional<AttachmentKey> ParseAttachmentKey(const std::string& text);

/// All facts of an attachment, kept as long as anything of it may exist on this node.
struct AttachmentRecord {
  AttachmentKey key;
  /// The ADD was answered. Before that, `owner` is or was at work on it. False again once a DEL has
  /// left the record to the agent.
  bool added = false;
  std::string netns;  ///< CNI_NETNS as given
  binding::NetnsId netns_id;
  std::string pod;  ///< NAMESPACE/NAME
  std::string pod_uid;
  std::string boot_id;
  ProcessId owner;
  std::string trace_id;              ///< the ADD's call to the agent; empty without one
  std::vector<binding::Plug> plugs;  ///< in the order of their making
  std::vector<vif::PodVif> vifs;     ///< one for each plug; none in records of version 0.1
  binding::RateLimits limits;        ///< of the default VIF, as the runtime asked for them
  /// Interfaces of `plugs` that are being plugged into the running pod, or unplugged from it. A
  /// process that was killed at it leaves them so.
  std::set<std::string> changing;
  /// Interfaces of `plugs` that were plugged or changed after the ADD. prevResult knows nothing of
  /// that.
  std::set<std::string> later;
  /// The network configuration that a delegated plugin was given; empty without one.
  std::string delegate_config;

  bool operator==(const AttachmentRecord&) const = default;

  /// The limits of a VIF of `vifs`: only CNI_IFNAME's interface is the runtime's to limit.
  [[nodiscard]] binding::RateLimits LimitsOf(const vif::PodVif& vif) const {
    return vif.is_default ? limits : binding::RateLimits();
  }
  /// The attachment as the drivers know it.
  [[nodiscard]] binding::Attachment attachment() const;
};

/// Whether a producer planned all VIFs: a network without one has the id of its VIF.
[[nodiscard]] bool HasProducer(const AttachmentRecord& record);

/// As one JSON document, and back; the latter throws ParseError.
[[nodiscard]] std::string ToJson(const AttachmentRecord& record);
[[nodiscard]] AttachmentRecord ParseAttachmentRecord(std::string_view json);

}  // namespace kuryr::cni
