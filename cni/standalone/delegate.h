#pragma once

#include <optional>
#include <string>

#include "base/deadline.h"
#include "cni/protocol/request.h"
#include "cni/protocol/result.h"

namespace kuryr::cni {

/// The IPAM plugin that a network configuration names: found in CNI_PATH and executed as we were,
/// with the whole configuration (CNI SPEC section 4). What it writes to stderr goes to ours.
class Delegate {
 public:
  /// `request` is borrowed. `config` goes to the plugin's stdin: the request's own, or the ADD's.
  /// Throws CniError 4 without CNI_PATH, 104 when no folder of CNI_PATH has the plugin.
  Delegate(const Request& request, const nlohmann::json& config);

  /// ADD: returns the addresses that the plugin gives. Throws the plugin's own error with its code
  /// and details, but 999 as 104. Throws CniError 104 when it cannot be run, or answers no result
  /// or no address. A plugin that takes too long is killed, and the error is Deadline's.
  [[nodiscard]] Result Add(const Deadline& deadline) const;
  /// CHECK, which answers nothing. Throws as Add.
  void Check(const Deadline& deadline) const;
  /// DEL. Succeeds for a plugin that does not support the configuration's version: its ADD failed.
  void Del(const Deadline& deadline) const;
  /// GC, of plugins that know it (by their VERSION).
  void Gc(const Deadline& deadline) const;
  /// STATUS. Throws CniError 50 when the plugin does not support the configuration's version.
  void Status(const Deadline& deadline) const;

 private:
  [[nodiscard]] std::string Execute(Command command, const Deadline& deadline) const;
  [[nodiscard]] bool SupportsVersion(const Deadline& deadline) const;

  const Request& request_;
  const std::string name_;
  const std::string program_;
  const std::string input_;
};

}  // namespace kuryr::cni
