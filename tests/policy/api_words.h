#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace kuryr::policy {

/// A cluster's objects, as the API has them.
struct ApiObjects {
  std::map<std::string, nlohmann::json> namespaces;  ///< by name
  /// By UID; status.podIP is IPv4. status.networks has the address on each additional network.
  std::map<std::string, nlohmann::json> pods;
  std::map<std::string, nlohmann::json> nodes;     ///< by name
  std::map<std::string, nlohmann::json> policies;  ///< by NAMESPACE/NAME
  std::map<std::string, nlohmann::json> admins;    ///< admins' policies, by KIND/NAME
  std::map<std::string, nlohmann::json> multis;    ///< MultiNetworkPolicies, by NAMESPACE/NAME
  std::map<std::string, std::string> definitions;  ///< networks, by NAMESPACE/NAME
};

/// A packet as the API speaks of it.
struct ApiPacket {
  std::string from;      ///< IPv4 address
  std::string to;        ///< IPv4 address
  std::string protocol;  ///< "TCP", "UDP", "SCTP", or another
  int port = 0;
  std::string network;  ///< that both addresses are of; empty: the pods' default one
};

/// The words of the API on NetworkPolicies, MultiNetworkPolicies and admins' policies, read again
/// for each packet (k8s.io/api networking/v1, sigs.k8s.io/network-policy-api v1alpha1 and
/// v1alpha2, Network Plumbing Working Group's multi-networkpolicy v1beta1).
/// It shares no code with the compiler, and is as slow as it is simple.
class ApiWords {
 public:
  explicit ApiWords(const ApiObjects& objects) : objects_(objects) {}

  /// Whether policies of the pod at `from` let the packet out.
  [[nodiscard]] bool MaySend(const ApiPacket& packet) const;
  /// Whether policies of the pod at `to` let the packet in.
  [[nodiscard]] bool MayReceive(const ApiPacket& packet) const;

 private:
  struct Reach {
    bool isolates = false;
    bool allows = false;  ///< its rules count
  };
  /// What a policy's annotation says about the network of the packet.
  [[nodiscard]] Reach ReachOf(const nlohmann::json& policy, const ApiPacket& packet) const;
  [[nodiscard]] const std::map<std::string, nlohmann::json>& PoliciesFor(
      const ApiPacket& packet) const {
    return packet.network.empty() ? objects_.policies : objects_.multis;
  }
  [[nodiscard]] bool May(const ApiPacket& packet, bool is_ingress) const;
  [[nodiscard]] bool NetworkPoliciesOnReceiving(const ApiPacket& packet, bool& is_isolated) const;
  [[nodiscard]] bool NetworkPoliciesOnSending(const ApiPacket& packet, bool& is_isolated) const;
  /// The action of the tier's first rule that matches; "" for none.
  [[nodiscard]] std::string ActionIn(const std::string& tier, const ApiPacket& packet,
                                     bool is_ingress) const;
  [[nodiscard]] std::string ActionOf(const nlohmann::json& policy, const ApiPacket& packet,
                                     bool is_ingress) const;
  [[nodiscard]] bool IsOneOf(const nlohmann::json& pods, const std::string& address) const;
  [[nodiscard]] bool IsAdminPort(const nlohmann::json& port, const ApiPacket& packet) const;
  [[nodiscard]] const nlohmann::json* PodAt(const std::string& address) const;
  [[nodiscard]] bool IsPeer(const nlohmann::json& peer, const std::string& policy_namespace,
                            const std::string& address) const;
  [[nodiscard]] bool IsPort(const nlohmann::json& port, const ApiPacket& packet) const;

  const ApiObjects& objects_;
};

}  // namespace kuryr::policy
