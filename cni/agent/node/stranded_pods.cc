#include "cni/agent/node/stranded_pods.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "cni/attachments/process.h"
#include "vif/pod_vifs.h"

namespace kuryr::cni {
namespace {

using watcher::PodEvent;

constexpr std::chrono::minutes kStrandedLookEvery{1};

std::string NetworkIdOf(const vif::Vif& vif) {
  const vif::VifBase& common = vif::Common(vif);
  return common.network.has_value() ? common.network->id.value_or("") : "";
}

/// Whether the node had another network of the address's family when the pod was planned.
bool IsElsewhere(const IpNetwork& address, const std::vector<IpNetwork>& networks) {
  bool has_family = false;
  for (const IpNetwork& network : networks) {
    if (network.Contains(address.address)) return false;
    has_family = has_family || network.address.family == address.address.family;
  }
  return has_family;
}

/// The record's first address that is not in `networks`, of a VIF in the network of that id.
std::optional<IpAddress> StrandedAddress(const AttachmentRecord& record,
                                         const std::string& network_id,
                                         const std::vector<IpNetwork>& networks) {
  for (const vif::PodVif& vif : record.vifs) {
    if (NetworkIdOf(vif.vif) != network_id) continue;
    for (const IpNetwork& address : vif::AddressesOf(vif::Common(vif.vif))) {
      if (IsElsewhere(address, networks)) return address.address;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string StrandedPods::Find(const vif::Vif& vif, const std::vector<IpNetwork>& networks) {
  const std::string network_id = NetworkIdOf(vif);
  if (network_id.empty()) return {};
  const auto now = Clock::now();
  const bool is_fresh =
      looked_at_ && now - *looked_at_ < kStrandedLookEvery && networks == networks_;
  if (is_fresh) return found_;
  found_ = Look(network_id, networks);
  networks_ = networks;
  looked_at_ = now;
  return found_;
}

std::string StrandedPods::Look(const std::string& network_id,
                               const std::vector<IpNetwork>& networks) {
  constexpr size_t kMostNamed = 3;
  std::string names;
  std::set<std::string> stranded;
  for (const AttachmentKey& key : node_.attachments.List()) {
    const auto record = node_.attachments.Find(key);
    if (!record || !record->added || record->boot_id != BootId()) continue;
    const auto address = StrandedAddress(*record, network_id, networks);
    if (!address || !stranded.insert(record->pod_uid).second) continue;
    if (stranded.size() <= kMostNamed) names += (names.empty() ? "" : ", ") + record->pod;
    if (told_.contains(record->pod_uid)) continue;
    reporter_.Post(*record, {.type = PodEvent::Type::kWarning,
                             .reason = "CNIUnreachable",
                             .message = "Address " + address->ToString() +
                                        " is of an earlier network of this node, which has " +
                                        "joined anew with another podCIDR: other nodes have no " +
                                        "route to it. Delete the pod to have it planned anew."});
  }
  told_ = std::move(stranded);
  if (told_.empty()) return {};
  const size_t more = told_.size() - std::min(told_.size(), kMostNamed);
  return std::to_string(told_.size()) + " with addresses of an earlier network of this node, " +
         "which other nodes do not reach: " + names +
         (more == 0 ? "" : " and " + std::to_string(more) + " more") + "; delete them";
}

}  // namespace kuryr::cni
