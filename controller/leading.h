#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "controller/backends/backend.h"
#include "controller/cluster/nodes.h"
#include "controller/config.h"
#include "controller/informer.h"
#include "controller/rounds/reporter.h"
#include "controller/rounds/round.h"
#include "controller/rounds/round_metrics.h"
#include "controller/rounds/workers.h"
#include "service/metrics_text.h"
#include "watcher/api_client.h"

namespace kuryr::controller {

/// One term of leading: the backend, and the rounds that plan pods and nodes. It begins once the
/// informer has caught up with the cluster, and stops writing at its end. Thread-safe.
class Leading {
 public:
  using MayWrite = std::function<bool()>;

  /// All borrowed.
  struct Parts {
    const Config& config;
    Reporter& reporter;
    RoundMetrics& metrics;
    Informer& informer;       ///< of one Leading at a time
    bool holds_ports = true;  ///< as for MakeSink
  };

  Leading(const Parts& parts, SinkKind sink, MayWrite may_write);
  Leading(const Leading&) = delete;
  Leading& operator=(const Leading&) = delete;
  ~Leading() { Stop(); }

  /// After the return it writes nothing. The other calls still answer.
  void Stop() EXCLUDES(mutex_);

  /// Why it cannot plan pods now; nullopt: it can.
  [[nodiscard]] std::optional<std::string> WhyNotReady() const;
  void WriteTo(service::MetricsText& text);

 private:
  struct Worker;

  void Wake(const Owner& owner);
  void Begin() EXCLUDES(mutex_);
  /// BackendHooks::is_gone.
  [[nodiscard]] bool IsGone(const Owner& pod);
  [[nodiscard]] RoundParts PartsOf(Writer& writer, ClusterView& view);
  [[nodiscard]] Workers::Round MakeRound() REQUIRES(mutex_);

  const Parts parts_;
  const SinkKind sink_;
  const MayWrite may_write_;
  RoundQueue queue_;
  watcher::ApiClient asker_;       ///< of IsGone, which one thread of the backend calls
  watcher::ApiClient node_asker_;  ///< of find_machine, which another one calls
  const std::shared_ptr<Backend> backend_;
  Nodes nodes_;
  std::atomic<bool> begun_ = false;
  Mutex mutex_;
  std::vector<std::shared_ptr<watcher::ApiClient>> clients_ GUARDED_BY(mutex_);
  std::unique_ptr<Workers> workers_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
};

/// The sink that kuryr.conf names. Otherwise KuryrPorts, if the cluster has their definition.
/// Throws the errors of ApiClient.
[[nodiscard]] SinkKind ChooseSink(const Config& config);

/// Whether the end of a namespace deletes its KuryrPorts when its pods are gone, and not before:
/// with API servers of Kubernetes 1.34 and later. False also if the API server does not tell its
/// version. Throws the errors of ApiClient but ApiError.
[[nodiscard]] bool EndsPodsFirst(const Config& config);

}  // namespace kuryr::controller
