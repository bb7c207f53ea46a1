#include "controller/cluster/ipam_claims.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "controller/owners/pod_facts.h"
#include "watcher/api_error.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

constexpr size_t kMostClaimed = 16;

/// The addresses in a claim's status. Throws ParseError.
std::vector<IpNetwork> IpsOf(const json& status) {
  std::vector<IpNetwork> ips;
  const auto list = status.find("ips");
  if (list == status.end() || list->is_null()) return ips;
  if (!list->is_array() || list->size() > kMostClaimed)
    throw ParseError("status.ips", "no list of up to 16 IP addresses");
  for (const json& item : *list) {
    const auto ip =
        item.is_string() ? IpNetwork::Parse(item.get_ref<const std::string&>()) : std::nullopt;
    if (!ip) throw ParseError("status.ips", "holds something else than IP addresses with /LENGTH");
    ips.push_back(*ip);
  }
  return ips;
}

IpamClaim ClaimOf(const watcher::WatchEvent& event) {
  IpamClaim claim{.owner = {.id = event.uid, .scope = event.name_space, .name = event.name},
                  .version = event.resource_version};
  const auto status = event.object->find("status");
  if (status == event.object->end() || !status->is_object()) return claim;
  claim.pod = StringAt(*status, "ownerPod");
  try {
    claim.ips = IpsOf(*status);
  } catch (const ParseError& e) {
    claim.problem = e.what();
  }
  return claim;
}

std::vector<IpAddress> AddressesOf(const std::vector<IpNetwork>& ips) {
  std::vector<IpAddress> addresses;
  addresses.reserve(ips.size());
  for (const IpNetwork& ip : ips) addresses.push_back(ip.address);
  return addresses;
}

std::vector<IpNetwork> IpsOf(const vif::PodVif& vif) {
  std::vector<IpNetwork> ips;
  const vif::VifBase& common = vif::Common(vif.vif);
  for (const vif::Subnet& subnet : *common.network->subnets) {
    const std::vector<IpNetwork> of_subnet = vif::FixedIpsOf(common, subnet);
    ips.insert(ips.end(), of_subnet.begin(), of_subnet.end());
  }
  return ips;
}

json StatusOf(const std::vector<IpNetwork>& ips, const std::string& pod) {
  json texts = json::array();
  for (const IpNetwork& ip : ips) texts.push_back(ip.ToString());
  return {{"ips", std::move(texts)}, {"ownerPod", pod}};
}

PlanError NoClaim(const std::string& key) {
  return {PlanError::Kind::kGone, "no IPAMClaim " + key};
}

}  // namespace

std::string ClaimsPath(const std::string& name_space) {
  return "/apis/k8s.cni.cncf.io/v1alpha1/namespaces/" + name_space + "/ipamclaims";
}

std::vector<IpAddress> IpamClaim::addresses() const { return AddressesOf(ips); }

bool IpamClaim::Has(std::vector<IpAddress> addresses) const {
  std::vector<IpAddress> own = this->addresses();
  std::sort(own.begin(), own.end());
  std::sort(addresses.begin(), addresses.end());
  return own == addresses;
}

std::vector<WatchedPath> IpamClaims::Paths() {
  return {{.path = "/apis/k8s.cni.cncf.io/v1alpha1/ipamclaims",
           .forbidden = "ipamclaims, whose addresses others may get"}};
}

void IpamClaims::BeginTerm(const Term& term) {
  const MutexLock lock(mutex_);
  backend_ = &term.backend;
  for (const auto& [key, claim] : claims_) Keep(claim);
}

void IpamClaims::EndTerm() {
  const MutexLock lock(mutex_);
  backend_ = nullptr;
}

IpamClaim IpamClaims::Find(const std::string& name_space, const std::string& name,
                           const Key& asker) {
  const std::string key = KeyOf(name_space, name);
  const MutexLock lock(mutex_);
  const auto found = claims_.find(key);
  if (found != claims_.end() && found->second.problem.empty()) return found->second;
  askers_.Add(key, asker);
  if (found == claims_.end()) throw NoClaim(key);
  throw PlanError(PlanError::Kind::kRefused, "IPAMClaim " + key + ", " + found->second.problem);
}

bool IpamClaims::Record(const InterfaceRequest& interface, const Owner& pod, const vif::PodVif& vif,
                        Writer& writer) {
  if (!interface.claim) return true;
  const Owner& owner = *interface.claim;
  const std::vector<IpNetwork> ips = IpsOf(vif);
  const IpamClaim claim = Find(owner.scope, owner.name, Key::OfPod(pod.scope, pod.name));
  if (claim.owner.id != owner.id) return false;
  if (!claim.ips.empty() && !claim.Has(AddressesOf(ips))) return false;
  if (!claim.ips.empty() && claim.pod == pod.name) return true;
  try {
    Learn(writer.PatchStatus(ClaimsPath(owner.scope) + "/" + owner.name,
                             {{"metadata", {{"uid", owner.id}, {"resourceVersion", claim.version}}},
                              {"status", StatusOf(ips, pod.name)}}),
          claim.version);
  } catch (const watcher::ApiError& e) {
    constexpr int kInvalid = 422;
    if (e.code() == watcher::ApiError::kNotFound) throw NoClaim(KeyOf(owner.scope, owner.name));
    if (e.code() != kInvalid) throw;
    throw PlanError(PlanError::Kind::kRefused, "IPAMClaim " + owner.name +
                                                   " has no room for the addresses of interface " +
                                                   interface.ifname);
  }
  return true;
}

void IpamClaims::OnPresent(const watcher::WatchEvent& event) {
  std::set<Key> askers;
  {
    const MutexLock lock(mutex_);
    Take(ClaimOf(event));
    askers = askers_.Take(KeyOf(event.name_space, event.name));
  }
  for (const Key& asker : askers) wake_(asker);
}

void IpamClaims::OnDeleted(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  const auto claim = claims_.find(KeyOf(event.name_space, event.name));
  if (claim == claims_.end()) return;
  if (backend_ != nullptr) backend_->Release(claim->second.owner.id);
  claims_.erase(claim);
}

void IpamClaims::Learn(json object, const std::string& base) {
  const watcher::WatchEvent event =
      watcher::MakeEvent(watcher::EventType::kModified, std::move(object));
  const MutexLock lock(mutex_);
  const auto known = claims_.find(KeyOf(event.name_space, event.name));
  if (known != claims_.end() && known->second.version == base) Take(ClaimOf(event));
}

void IpamClaims::Take(IpamClaim claim) {
  IpamClaim& known = claims_[KeyOf(claim.owner.scope, claim.owner.name)];
  const bool other = known.owner.id != claim.owner.id || known.ips != claim.ips;
  if (other && backend_ != nullptr && !known.owner.id.empty()) backend_->Release(known.owner.id);
  known = std::move(claim);
  Keep(known);
}

void IpamClaims::Keep(const IpamClaim& claim) {
  if (backend_ == nullptr || claim.ips.empty()) return;
  auto* keeper = backend_->facets().addresses;
  if (keeper == nullptr) return;
  try {
    Owner owner = claim.owner;
    owner.name += " (IPAMClaim)";
    keeper->Keep(owner, claim.addresses());
  } catch (const PlanError& e) {
    Log(LogLevel::kWarning, "IPAMClaim not honoured",
        {{"claim", KeyOf(claim.owner.scope, claim.owner.name)}, {"error", e.what()}});
  }
}

}  // namespace kuryr::controller
