#include "cni/agent/policy/closed_addresses.h"

#include <cstddef>
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
  filter.chains.try_emplace(name, std::move(chain));
  return name;
}

}  // namespace

void ClosedAddresses::CloseIn(binding::Filter& filter, const LocalPods& pods) {
  std::set<IpAddress> local;
  for (const auto& [uid, addresses] : pods) local.insert(addresses.begin(), addresses.end());
  std::erase_if(closed_, [&](const IpAddress& address) { return local.contains(address); });
  for (const IpAddress& address : chained_)
    if (!local.contains(address)) closed_.push_back(address);
  while (closed_.size() > kMostClosed) closed_.pop_front();
  chained_.clear();
  for (const auto* jumps : {&filter.senders, &filter.receivers})
    for (const auto& [address, chain] : *jumps) chained_.insert(address);
  if (closed_.empty()) return;
  const std::string sent = KeepClosedChain(filter, binding::PacketEnd::kSource);
  const std::string received = KeepClosedChain(filter, binding::PacketEnd::kDestination);
  for (const IpAddress& address : closed_) {
    filter.senders[address] = sent;
    filter.receivers[address] = received;
  }
}

void ClosedAddresses::Clear() {
  chained_.clear();
  closed_.clear();
}

}  // namespace kuryr::cni
