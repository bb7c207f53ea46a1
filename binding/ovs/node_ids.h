#pragma once

#include <string>

#include "base/deadline.h"
#include "binding/ovs/open_vswitch.h"

namespace kuryr::binding {

/// external_ids of the node's Open vSwitch itself. Throws what OvsdbClient does. Not thread-safe.
class NodeIds {
 public:
  /// As OvsdbClient.
  explicit NodeIds(std::string remote, OvsdbConnections* kept = nullptr)
      : client_(kOpenVSwitchDatabase, std::move(remote), kept) {}

  [[nodiscard]] ExternalIds Find(const Deadline& deadline);
  /// In one transaction: removes those of `removed` that are there with the same value, and then
  /// adds those of `added` whose keys are not there.
  void Change(const ExternalIds& removed, const ExternalIds& added, const Deadline& deadline);

 private:
  OvsdbClient client_;
};

}  // namespace kuryr::binding
