#pragma once

#include <functional>

#include "config/node_network_options.h"
#include "controller/backends/backend_factory.h"
#include "controller/cluster/cluster_view.h"
#include "controller/cluster/ipam_claims.h"
#include "controller/cluster/namespaces.h"
#include "controller/cluster/network_attachments.h"
#include "controller/cluster/node_store.h"
#include "controller/cluster/service_cidrs.h"
#include "controller/kinds/key.h"
#include "controller/owners/writer.h"
#include "controller/plan/plan_places.h"
#include "controller/rounds/reporter.h"
#include "controller/rounds/round_metrics.h"
#include "service/work_queue.h"

namespace kuryr::controller {

using RoundQueue = service::BasicWorkQueue<Key>;

/// The parts that a worker's rounds use. All borrowed.
struct RoundParts {
  Backend& backend;
  RoundQueue& queue;
  Reporter& reporter;
  RoundMetrics& metrics;
  NodeStore& nodes;
  NetworkAttachments& attachments;
  IpamClaims& claims;
  Namespaces& namespaces;
  const ServiceCidrs& service_cidrs;
  const NodeNetworkOptions& node_network;
  BackendNeeds needs;
  std::function<void()> ask_for_absent;  ///< a resource that was absent may be there now
  SinkKind sink = SinkKind::kKuryrPort;
  bool holds_ports = true;  ///< as for MakeSink
  Writer& writer;           ///< the worker's own
  ClusterView& view;        ///< the worker's own
};

/// A worker's looks at keys of one kind. Each worker has its own: it is not thread-safe, and what
/// it shares is.
class Round {
 public:
  Round() = default;
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;
  virtual ~Round() = default;

  /// Compares what should be with what is, and makes it so. Throws where the key is to come again.
  virtual void Look(const Key& key) = 0;
};

}  // namespace kuryr::controller
