#pragma once

#include <vector>

#include "base/ip.h"
#include "controller/backends/backend.h"
#include "controller/cluster/ipam_claims.h"
#include "controller/cluster/network_attachments.h"
#include "controller/owners/pod_facts.h"

namespace kuryr::controller {

/// The request for a pod's VIFs. Its default interface has the addresses and the MAC that its user
/// wishes. Each network that its user selects has one more. Of these, the one that has the default
/// route is the default interface. All have the security groups that the pod names. A selection
/// that another plugin serves is passed over. An interface with an IPAMClaim that has addresses
/// gets these. PlanError kRefused names the annotation that is malformed; else what
/// `attachments` and `claims` throw.
[[nodiscard]] PlanRequest PlanRequestOf(const PodFacts& pod, std::vector<IpNetwork> node_networks,
                                        NetworkAttachments& attachments, IpamClaims& claims);

}  // namespace kuryr::controller
