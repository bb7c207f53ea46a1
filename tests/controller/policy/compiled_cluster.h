#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/ip.h"
#include "controller/policy/policy_compiler.h"

namespace kuryr::controller {

/// One end of a connection: a pod, or an address outside the cluster.
struct Peer {
  std::string uid;  ///< empty: it is no pod
  IpAddress address;
};

/// A packet that begins a connection.
struct Packet {
  Peer from;
  Peer to;
  std::string protocol;
  uint16_t port = 0;
};

/// What a backend has been told, and what would pass there.
class CompiledCluster {
 public:
  /// Fails the test if the changes tell what is known already, or break CompiledPolicy's promises.
  void Apply(const PolicyChanges& changes);

  /// Whether policies of the sender let the packet out.
  [[nodiscard]] bool MaySend(const Packet& packet) const;
  /// Whether policies of the receiver let the packet in.
  [[nodiscard]] bool MayReceive(const Packet& packet) const;
  [[nodiscard]] bool Passes(const Packet& packet) const;
  [[nodiscard]] const CompiledPolicy& policy(const std::string& name) const {
    return policies_.at(name);
  }
  [[nodiscard]] std::set<PodSet> SetsOf(const std::string& uid) const;
  /// Fails the test if a pod is in a set that no policy names.
  void ExpectNamedSets() const;

  bool operator==(const CompiledCluster&) const = default;

 private:
  [[nodiscard]] bool IsIn(const Peer& peer, const PodSet& set) const;
  [[nodiscard]] bool HasPeer(const PolicyRule& rule, const Peer& peer) const;
  [[nodiscard]] bool IsAllowed(TrafficDirection direction, const Peer& subject, const Peer& peer,
                               const Packet& packet) const;

  std::map<std::string, CompiledPolicy> policies_;
  std::map<std::string, std::set<PodSet>> pods_;  ///< those that are in a set
};

}  // namespace kuryr::controller
