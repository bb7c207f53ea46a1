#include "compiled_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kuryr::controller {
namespace {

bool HasPort(const PolicyRule& rule, const Packet& packet) {
  return rule.any_port || std::any_of(rule.ports.begin(), rule.ports.end(), [&](const auto& ports) {
           return ports.protocol == packet.protocol && ports.first <= packet.port &&
                  packet.port <= ports.last;
         });
}

void ExpectWhole(const CompiledPolicy& policy) {
  for (const PolicyRule& rule : policy.rules) {
    const bool is_ingress = rule.direction == TrafficDirection::kIngress;
    EXPECT_TRUE(is_ingress ? policy.isolates_ingress : policy.isolates_egress);
    EXPECT_NE(rule.any_peer, !rule.peers.empty() || !rule.blocks.empty());
    EXPECT_NE(rule.any_port, !rule.ports.empty());
  }
}

}  // namespace

void CompiledCluster::Apply(const PolicyChanges& changes) {
  for (const auto& [name, policy] : changes.policies) {
    if (!policy) {
      EXPECT_EQ(policies_.erase(name), 1U) << name;
      continue;
    }
    ExpectWhole(*policy);
    const auto [known, is_new] = policies_.try_emplace(name, *policy);
    EXPECT_TRUE(is_new || known->second != *policy) << name << " has not changed";
    known->second = *policy;
  }
  for (const auto& [uid, sets] : changes.pods) {
    EXPECT_NE(SetsOf(uid), sets) << uid << " has not changed";
    pods_[uid] = sets;
    if (sets.empty()) pods_.erase(uid);
  }
}

std::set<PodSet> CompiledCluster::SetsOf(const std::string& uid) const {
  const auto pod = pods_.find(uid);
  return pod == pods_.end() ? std::set<PodSet>() : pod->second;
}

void CompiledCluster::ExpectNamedSets() const {
  std::set<PodSet> named;
  for (const auto& [name, policy] : policies_) {
    named.insert(policy.subject);
    for (const PolicyRule& rule : policy.rules) {
      named.insert(rule.subject);
      named.insert(rule.peers.begin(), rule.peers.end());
    }
  }
  for (const auto& [uid, sets] : pods_) {
    for (const PodSet& set : sets) EXPECT_TRUE(named.contains(set)) << set;
  }
}

bool CompiledCluster::IsIn(const Peer& peer, const PodSet& set) const {
  const auto pod = pods_.find(peer.uid);
  return pod != pods_.end() && pod->second.contains(set);
}

bool CompiledCluster::HasPeer(const PolicyRule& rule, const Peer& peer) const {
  const auto has_address = [&](const AddressBlock& block) {
    return block.network.Contains(peer.address) &&
           std::none_of(block.except.begin(), block.except.end(),
                        [&](const IpNetwork& except) { return except.Contains(peer.address); });
  };
  return rule.any_peer ||
         std::any_of(rule.peers.begin(), rule.peers.end(),
                     [&](const PodSet& set) { return IsIn(peer, set); }) ||
         std::any_of(rule.blocks.begin(), rule.blocks.end(), has_address);
}

bool CompiledCluster::IsAllowed(TrafficDirection direction, const Peer& subject, const Peer& peer,
                                const Packet& packet) const {
  bool is_isolated = false;
  for (const auto& [name, policy] : policies_) {
    const bool isolates =
        direction == TrafficDirection::kIngress ? policy.isolates_ingress : policy.isolates_egress;
    is_isolated = is_isolated || (isolates && IsIn(subject, policy.subject));
    for (const PolicyRule& rule : policy.rules) {
      if (rule.direction == direction && IsIn(subject, rule.subject) && HasPeer(rule, peer) &&
          HasPort(rule, packet))
        return true;
    }
  }
  return !is_isolated;
}

bool CompiledCluster::MaySend(const Packet& packet) const {
  return packet.from.uid.empty() ||
         IsAllowed(TrafficDirection::kEgress, packet.from, packet.to, packet);
}

bool CompiledCluster::MayReceive(const Packet& packet) const {
  return packet.to.uid.empty() ||
         IsAllowed(TrafficDirection::kIngress, packet.to, packet.from, packet);
}

bool CompiledCluster::Passes(const Packet& packet) const {
  return MaySend(packet) && MayReceive(packet);
}

}  // namespace kuryr::controller
