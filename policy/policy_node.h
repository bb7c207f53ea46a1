#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/ip.h"
#include "policy/label_selector.h"

namespace kuryr::policy {

/// A node as policies see it.
struct PolicyNode {
  /// Of one node; its kubelet writes them.
  static constexpr size_t kMostAddresses = 32;

  Labels labels;
  std::vector<IpNetwork> addresses;  ///< as networks of one; sorted, each once

  bool operator==(const PolicyNode&) const = default;
};

/// The node of the API's object, with the IP addresses of its status.
[[nodiscard]] PolicyNode PolicyNodeOf(const nlohmann::json& node);

/// The cluster's nodes. Not thread-safe.
class PolicyNodes {
 public:
  /// False: nothing has changed.
  bool Set(const std::string& name, PolicyNode node);
  bool Remove(const std::string& name) { return nodes_.erase(name) > 0; }

  /// The addresses of the nodes that one of the selectors chooses, as networks; sorted, each once.
  [[nodiscard]] std::vector<IpNetwork> Chosen(const std::vector<LabelSelector>& selectors) const;

 private:
  std::map<std::string, PolicyNode> nodes_;
};

}  // namespace kuryr::policy
