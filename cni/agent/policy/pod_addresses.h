#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ip.h"
#include "cni/agent/policy/filter_maker.h"
#include "cni/attachments/attachment_record.h"
#include "watcher/watch_event.h"

namespace kuryr::cni {

/// The addresses of interface eth0 for which the node forwards: their link has no network.
[[nodiscard]] std::set<IpAddress> RoutedAddresses(const AttachmentRecord& record);

/// The addresses of pods by their UIDs at the API server: what it says of all pods, and what the
/// node knows of its own before. The runtime knows a static pod by another UID than its mirror has.
/// Not thread-safe.
class PodAddresses {
 public:
  using Uids = std::vector<std::string>;

  // Each of these returns the pods whose addresses may be others now.

  /// `change` is a number that grows with each event.
  [[nodiscard]] Uids Learn(const watcher::WatchEvent& event, uint64_t change);
  /// Another pod that had one of the record's addresses has it no more: the node was not told of
  /// its end.
  [[nodiscard]] Uids Plug(const AttachmentRecord& record);
  [[nodiscard]] Uids Unplug(const AttachmentKey& key);

  [[nodiscard]] std::set<IpAddress> Of(const std::string& uid) const;
  /// This node's pods.
  [[nodiscard]] LocalPods Local() const;
  /// Whether it is plugged, and its pod has not ended.
  [[nodiscard]] bool IsPlugged(const AttachmentKey& key) const;
  /// The number of the first event of the record's pod; nullopt before it.
  [[nodiscard]] std::optional<uint64_t> FirstEventOf(const AttachmentRecord& record) const;
  /// Those of that name, NAMESPACE/NAME.
  [[nodiscard]] LocalPods LocalOf(const std::string& name) const;

 private:
  struct LocalPod {
    std::string name;  ///< NAMESPACE/NAME
    std::string uid;   ///< at the runtime
    std::set<IpAddress> addresses;
  };
  struct ToldPod {
    uint64_t first_event = 0;
    std::set<IpAddress> addresses;  ///< status.podIPs
  };
  /// Its name, and the hash of its manifest.
  using StaticPod = std::pair<std::string, std::string>;

  [[nodiscard]] const std::string& UidOf(const std::string& name, const std::string& uid) const;

  std::map<std::string, LocalPod> local_;     ///< by attachment
  std::map<std::string, ToldPod> told_;       ///< by UID
  std::map<StaticPod, std::string> mirrors_;  ///< the mirror's UID
};

}  // namespace kuryr::cni
