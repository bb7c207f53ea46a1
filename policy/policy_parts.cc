#include "policy/policy_parts.h"

namespace kuryr::policy {
namespace {

constexpr size_t kLongestPortName = 15;

bool IsPortName(const std::string& text) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return text.size() <= kLongestPortName && std::any_of(text.begin(), text.end(), is_letter) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace

std::string ProtocolIn(const PolicyField& field) {
  if (!field.is_there() || field.Text() == "TCP") return "tcp";
  if (field.Text() == "UDP") return "udp";
  if (field.Text() != "SCTP") field.RefuseText("TCP, UDP or SCTP");
  return "sctp";
}

std::string PortNameIn(const PolicyField& field) {
  if (!IsPortName(field.Text())) field.RefuseText("a number, or a port's name");
  return field.Text();
}

IpNetwork NetworkIn(const PolicyField& field) {
  const std::string& text = field.Text();
  const auto network = IpNetwork::Parse(text);
  if (!network || text.find('/') == std::string::npos) field.RefuseText("ADDRESS/LENGTH");
  return network->Masked();
}

void SortOnce(NetworkPolicyRule& rule) {
  SortOnce(rule.peers);
  SortOnce(rule.blocks);
  SortOnce(rule.networks);
  SortOnce(rule.nodes);
  SortOnce(rule.ports);
  SortOnce(rule.named_ports);
}

bool TakeNames(PolicyBudget& budget, size_t subject_bytes, const NetworkPolicyRule& rule) {
  if (!budget.TakeName(subject_bytes)) return false;
  const auto divide = [&](size_t bytes) {
    return std::all_of(rule.named_ports.begin(), rule.named_ports.end(),
                       [&](const PortName& /*port*/) { return budget.TakeName(bytes); });
  };
  if (rule.direction == TrafficDirection::kIngress || rule.any_peer) return divide(subject_bytes);
  return rule.named_ports.empty() ||
         std::all_of(rule.peers.begin(), rule.peers.end(),
                     [&](const PeerSelector& peer) { return divide(peer.ToString().size()); });
}

}  // namespace kuryr::policy
