#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace kuryr::controller {

/// A cluster's objects, as the API has them.
struct ApiObjects {
  std::map<std::string, nlohmann::json> namespaces;  ///< by name
  std::map<std::string, nlohmann::json> pods;        ///< by UID; status.podIP is IPv4
  std::map<std::string, nlohmann::json> policies;    ///< by NAMESPACE/NAME
  std::map<std::string, nlohmann::json> admins;      ///< AdminNetworkPolicies, by name
  std::map<std::string, nlohmann::json> baselines;   ///< BaselineAdminNetworkPolicies, by name
};

/// A packet as the API speaks of it.
struct ApiPacket {
  std::string from;      ///< IPv4 address
  std::string to;        ///< IPv4 address
  std::string protocol;  ///< "TCP", "UDP", "SCTP", or another
  int port = 0;
};

/// The words of the API on NetworkPolicies and admins' policies, read again for each packet
/// (k8s.io/api networking/v1, sigs.k8s.io/network-policy-api v1alpha1).
/// It shares no code with the compiler, and is as slow as it is simple.
class ApiWords {
 public:
  explicit ApiWords(const ApiObjects& objects) : objects_(objects) {}

  /// Whether policies of the pod at `from` let the packet out.
  [[nodiscard]] bool MaySend(const ApiPacket& packet) const;
  /// Whether policies of the pod at `to` let the packet in.
  [[nodiscard]] bool MayReceive(const ApiPacket& packet) const;

 private:
  [[nodiscard]] bool May(const ApiPacket& packet, bool is_ingress) const;
  [[nodiscard]] bool NetworkPoliciesOnReceiving(const ApiPacket& packet, bool& is_isolated) const;
  [[nodiscard]] bool NetworkPoliciesOnSending(const ApiPacket& packet, bool& is_isolated) const;
  /// The action of the first rule that matches; "" for none.
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

}  // namespace kuryr::controller
