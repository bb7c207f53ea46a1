#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/cluster/certificate_requests.h"
#include "controller/cluster/ipam_claims.h"
#include "controller/cluster/namespaces.h"
#include "controller/cluster/network_attachments.h"
#include "controller/cluster/node_store.h"
#include "controller/cluster/policies.h"
#include "controller/cluster/service_cidrs.h"
#include "controller/cluster/services.h"
#include "controller/kinds/watched_kind.h"
#include "controller/owners/pod_store.h"
#include "controller/rounds/certificate_round.h"
#include "controller/rounds/node_reconciler.h"
#include "controller/rounds/reconciler.h"
#include "controller/rounds/telling_rounds.h"

namespace kuryr::controller {

struct KindRow {
  using MakeRound = std::function<std::unique_ptr<Round>(const RoundParts& parts)>;

  WatchedKind& kind;
  std::string_view name;           ///< of its keys
  MakeRound make_round = nullptr;  ///< null: it has no keys
};

template <typename RoundOfKind, typename Kind>
KindRow With(Kind& kind) {
  return {kind, Kind::kKind,
          [&kind](const RoundParts& parts) { return std::make_unique<RoundOfKind>(kind, parts); }};
}

/// The kinds of objects that the controller watches. A new one is a class, and here a member with
/// its row.
class KindTable {
 public:
  explicit KindTable(KindParts parts) : parts_(std::move(parts)) {}

 private:
  const KindParts parts_;

 public:
  Policies policies{parts_};
  NodeStore nodes{parts_};
  PodStore pods{parts_};
  IpamClaims claims{parts_};
  Namespaces namespaces{parts_};
  NetworkAttachments attachments{parts_};
  Services services{parts_};
  ServiceCidrs service_cidrs{parts_};
  CertificateRequests certificates{parts_};

  /// They take an event, and tell a backend, in their order: a pod's policies are there
  /// before its port, and its plan goes before the addresses of a claim.
  const std::vector<KindRow> rows = {With<PolicyRound>(policies),
                                     With<NodeReconciler>(nodes),
                                     With<Reconciler>(pods),
                                     {claims},
                                     {namespaces},
                                     {attachments},
                                     With<ServiceRound>(services),
                                     {service_cidrs},
                                     With<CertificateRound>(certificates)};
};

}  // namespace kuryr::controller
