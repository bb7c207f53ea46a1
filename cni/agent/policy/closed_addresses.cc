#include "cni/agent/policy/closed_addresses.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace kuryr::cni {
namespace {

/// A pool of IPv6 has too many addresses for all to stay.
constexpr size_t kMostClosed = 512;

std::string KeepClosedChain(binding::Filter& filter, binding::PacketEnd pod) {
  binding::FilterChain chain = {.pod = pod,
                                .rules = {{.verdict = binding::FilterRule::Verdict::kDrop}}};
  std::string name = binding::NameOf(chain);
  filter.chains.try_emplace(name, std::make_shared<binding::FilterChain>(std::move(chain)));
  return name;
}

}  // namespace

void ClosedAddresses::CloseIn(binding::Filter& filter, const LocalPods& pods) {
  std::map<IpAddress, std::string> local;
  for (const auto& [uid, addresses] : pods)
    for (const IpAddress& address : addresses) local.emplace(address, uid);
  std::erase_if(closed_, [&](const Closed& each) { return local.contains(each.address); });
  for (const auto& [address, uid] : chained_)
    if (!local.contains(address)) closed_.push_back({address, uid});
  while (closed_.size() > kMostClosed) closed_.pop_front();
  chained_ = std::move(local);
  std::erase_if(chained_, [&](const auto& each) {
    return !filter.senders.contains(each.first) && !filter.receivers.contains(each.first);
  });
  if (closed_.empty()) return;
  const std::string sent = KeepClosedChain(filter, binding::PacketEnd::kSource);
  const std::string received = KeepClosedChain(filter, binding::PacketEnd::kDestination);
  for (const Closed& each : closed_) {
    filter.senders[each.address] = sent;
    filter.receivers[each.address] = received;
  }
}

bool ClosedAddresses::OpenTo(const std::string& uid, const std::set<IpAddress>& addresses) {
  return std::erase_if(closed_, [&](const Closed& each) {
           return each.uid != uid && addresses.contains(each.address);
         }) > 0;
}

void ClosedAddresses::Clear() {
  chained_.clear();
  closed_.clear();
}

}  // namespace kuryr::cni
