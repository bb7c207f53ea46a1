#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "controller/backends/neutron/api/neutron_error.h"

namespace kuryr::controller::neutron {

/// Kinds of requests to Keystone (kToken) and Neutron.
enum class RequestKind {
  kToken,
  kExtensions,
  kNetworkGet,
  kNetworkList,
  kNetworkCreate,
  kNetworkUpdate,
  kNetworkTags,
  kNetworkDelete,
  kSubnetPoolGet,
  kSubnetGet,
  kSubnetList,
  kSubnetCreate,
  kSubnetTags,
  kRouterInterface,  ///< added or removed
  kPortCreate,
  kPortBulkCreate,
  kPortUpdate,
  kPortTags,
  kPortDelete,
  kPortGet,
  kPortList,
  kPortPoll,  ///< which ports are ACTIVE
  kPortLook,  ///< which ports there are
  kNodePortList,
  kSubPortAdd,
  kSubPortRemove,
  kAddressPairs,
  kQuotaGet,
  kGroupList,  ///< of security groups
  kGroupCreate,
  kGroupTags,
  kGroupDelete,
  kRuleCreate,  ///< of security groups, many at a time
  kRuleDelete,
};

/// For labels of metrics: "port_create".
[[nodiscard]] std::string_view NameOf(RequestKind kind);
/// "ok" for nothing, else the failure: "unavailable".
[[nodiscard]] std::string_view NameOf(std::optional<NeutronError::Kind> failure);

/// Hears of every request that was sent. Called by many threads at a time.
class RequestObserver {
 public:
  RequestObserver() = default;
  RequestObserver(const RequestObserver&) = delete;
  RequestObserver& operator=(const RequestObserver&) = delete;
  virtual ~RequestObserver() = default;

  /// `time` from its sending to its answer, without the wait for its turn.
  virtual void OnRequest(RequestKind kind, std::optional<NeutronError::Kind> failure,
                         std::chrono::steady_clock::duration time) = 0;
};

}  // namespace kuryr::controller::neutron
