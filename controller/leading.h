#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "controller/chosen_backend.h"
#include "controller/config.h"
#include "controller/controller_metrics.h"
#include "controller/ipam_claims.h"
#include "controller/network_attachments.h"
#include "controller/node_networks.h"
#include "controller/pod_store.h"
#include "controller/reconciler.h"
#include "controller/reporter.h"
#include "controller/work_queue.h"
#include "controller/workers.h"
#include "service/metrics_text.h"
#include "watcher/watcher.h"

namespace kuryr::controller {

/// A controller while it leads: what it watches, knows and plans. It begins with the present state
/// of the cluster, whatever it led before, and plans nothing before it has heard of everything
/// that is planned. Its end is the end of its writing. Thread-safe.
class Leading {
 public:
  using MayWrite = std::function<bool()>;

  /// All borrowed.
  struct Parts {
    const Config& config;
    Reporter& reporter;
    ControllerMetrics& metrics;
  };

  Leading(const Parts& parts, SinkKind sink, MayWrite may_write);
  Leading(const Leading&) = delete;
  Leading& operator=(const Leading&) = delete;
  ~Leading();

  /// Why pods could not be planned now; nullopt when all is well.
  [[nodiscard]] std::optional<std::string> WhyNotReady() const;
  void WriteTo(service::MetricsText& text);

 private:
  struct Worker;

  void Wake(const Owner& owner);
  void OnListed(std::once_flag& once) EXCLUDES(mutex_);
  [[nodiscard]] Workers::Round MakeRound() REQUIRES(mutex_);

  const Parts parts_;
  const SinkKind sink_;
  const MayWrite may_write_;
  WorkQueue queue_;
  ChosenBackend backend_;
  NodeNetworks nodes_;
  NetworkAttachments attachments_;
  IpamClaims claims_;
  PodStore store_;
  watcher::EventPipeline pipeline_;
  std::atomic<bool> listed_ = false;
  std::atomic<int> lists_missing_ = 4;
  std::once_flag pods_listed_;
  std::once_flag ports_listed_;
  std::once_flag attachments_listed_;
  std::once_flag claims_listed_;
  Mutex mutex_;
  std::vector<std::shared_ptr<watcher::ApiClient>> clients_ GUARDED_BY(mutex_);
  std::unique_ptr<Workers> workers_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  watcher::Watcher watcher_;  // last: it uses all of the above
};

/// The sink that kuryr.conf names, or what the cluster has: KuryrPorts where their definition is.
/// Throws what ApiClient does.
[[nodiscard]] SinkKind ChooseSink(const Config& config);

}  // namespace kuryr::controller
