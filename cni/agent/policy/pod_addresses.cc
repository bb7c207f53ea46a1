#include "cni/agent/policy/pod_addresses.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "cni/pod/known_pod.h"
#include "vif/pod_vifs.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

bool IsRouted(const IpNetwork& address) {
  return address.prefix_length == 8 * address.address.size();
}

/// The addresses of a pod that runs; none of one that has ended, whose addresses another pod gets.
std::set<IpAddress> ToldAddresses(const json& pod) {
  std::set<IpAddress> addresses;
  const json& status = MemberAt(pod, "status");
  const std::string phase = StringAt(status, "phase");
  if (phase == "Succeeded" || phase == "Failed") return addresses;
  for (const json& entry : MemberAt(status, "podIPs"))
    if (const auto address = IpAddress::Parse(StringAt(entry, "ip"))) addresses.insert(*address);
  return addresses;
}

}  // namespace

std::set<IpAddress> RoutedAddresses(const AttachmentRecord& record) {
  std::set<IpAddress> addresses;
  for (const vif::PodVif& vif : record.vifs) {
    if (!vif.is_default) continue;
    for (const IpNetwork& address : vif::AddressesOf(vif::Common(vif.vif)))
      if (IsRouted(address)) addresses.insert(address.address);
  }
  return addresses;
}

PodAddresses::Uids PodAddresses::Learn(const watcher::WatchEvent& event, uint64_t change) {
  if (event.type == watcher::EventType::kDeleted) {
    told_.erase(event.uid);
    std::erase_if(mirrors_, [&](const auto& mirror) { return mirror.second == event.uid; });
    // A plugin that worked alone has not told of its DEL.
    std::erase_if(local_, [&](const auto& pod) { return pod.second.uid == event.uid; });
    return {event.uid};
  }
  const json& pod = *event.object;
  if (MemberAt(MemberAt(pod, "spec"), "hostNetwork") == true) return {};
  ToldPod& told = told_.try_emplace(event.uid, ToldPod{.first_event = change}).first->second;
  told.addresses = ToldAddresses(pod);
  const std::string hash = ManifestHashOf(pod);
  if (!hash.empty()) mirrors_[{event.name_space + "/" + event.name, hash}] = event.uid;
  return {event.uid};
}

PodAddresses::Uids PodAddresses::Plug(const AttachmentRecord& record) {
  LocalPod pod = {.name = record.pod, .uid = record.pod_uid, .addresses = RoutedAddresses(record)};
  if (pod.addresses.empty()) return {};
  const std::string key = ToString(record.key);
  Uids changed = {UidOf(pod.name, pod.uid)};
  for (auto& [other, known] : local_) {
    if (other != key && std::erase_if(known.addresses, [&](const IpAddress& address) {
                          return pod.addresses.contains(address);
                        }) > 0)
      changed.push_back(UidOf(known.name, known.uid));
  }
  local_.insert_or_assign(key, std::move(pod));
  return changed;
}

PodAddresses::Uids PodAddresses::Unplug(const AttachmentKey& key) {
  const auto pod = local_.find(ToString(key));
  if (pod == local_.end()) return {};
  Uids changed = {UidOf(pod->second.name, pod->second.uid)};
  local_.erase(pod);
  return changed;
}

std::set<IpAddress> PodAddresses::Of(const std::string& uid) const {
  std::set<IpAddress> addresses;
  if (const auto told = told_.find(uid); told != told_.end()) addresses = told->second.addresses;
  for (const auto& [key, pod] : local_)
    if (UidOf(pod.name, pod.uid) == uid)
      addresses.insert(pod.addresses.begin(), pod.addresses.end());
  return addresses;
}

LocalPods PodAddresses::Local() const {
  LocalPods local;
  for (const auto& [key, pod] : local_)
    local[UidOf(pod.name, pod.uid)].insert(pod.addresses.begin(), pod.addresses.end());
  return local;
}

bool PodAddresses::IsPlugged(const AttachmentKey& key) const {
  return local_.contains(ToString(key));
}

std::optional<uint64_t> PodAddresses::FirstEventOf(const AttachmentRecord& record) const {
  const auto told = told_.find(UidOf(record.pod, record.pod_uid));
  return told == told_.end() ? std::nullopt : std::optional(told->second.first_event);
}

LocalPods PodAddresses::LocalOf(const std::string& name) const {
  LocalPods local;
  for (const auto& [key, pod] : local_)
    if (pod.name == name)
      local[UidOf(pod.name, pod.uid)].insert(pod.addresses.begin(), pod.addresses.end());
  return local;
}

/// At the API server.
const std::string& PodAddresses::UidOf(const std::string& name, const std::string& uid) const {
  const auto mirror = mirrors_.find({name, uid});
  return mirror == mirrors_.end() ? uid : mirror->second;
}

}  // namespace kuryr::cni
