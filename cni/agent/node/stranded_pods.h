#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ip.h"
#include "cni/agent/upkeep/attachment_reporter.h"
#include "cni/config.h"
#include "cni/node_context.h"
#include "vif/vif.h"

namespace kuryr::cni {

/// The pods that still run with addresses of an earlier network of their node, after the Node has
/// joined anew with another one: no other node has a route to them. Not thread-safe.
class StrandedPods {
 public:
  /// Both are borrowed.
  StrandedPods(const NodeContext& node, const Config& config)
      : node_(node), reporter_(config, node.writer) {}

  /// Names them; empty where there are none. Each gets an Event once. `vif` is the management
  /// port's, whose network its pods share, and `networks` are those of the node's pods now. Reads
  /// the records once a minute, and when the networks have changed. Throws std::system_error.
  [[nodiscard]] std::string Find(const vif::Vif& vif, const std::vector<IpNetwork>& networks);

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::string Look(const std::string& network_id,
                                 const std::vector<IpNetwork>& networks);

  const NodeContext& node_;
  const AttachmentReporter reporter_;
  std::vector<IpNetwork> networks_;  ///< those of the last look
  std::optional<Clock::time_point> looked_at_;
  std::string found_;
  std::set<std::string> told_;  ///< UIDs of pods
};

}  // namespace kuryr::cni
