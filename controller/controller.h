#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/thread_annotations.h"
#include "controller/config.h"
#include "controller/election/leader_election.h"
#include "controller/informer.h"
#include "controller/leading.h"
#include "controller/rounds/reporter.h"
#include "controller/rounds/round_metrics.h"

namespace kuryr::controller {

/// The controller: knows the cluster, waits until it leads, plans while it does, and begins anew.
/// Thread-safe.
class Controller {
 public:
  explicit Controller(Config config);
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  /// Returns when asked to stop, and another controller may lead at once.
  void Run(const std::stop_token& stop) EXCLUDES(mutex_);

  /// Why it can neither plan now nor take over; nullopt: it can.
  [[nodiscard]] std::optional<std::string> WhyNotReady() const EXCLUDES(mutex_);
  /// For Prometheus.
  [[nodiscard]] std::string Metrics() const EXCLUDES(mutex_);

 private:
  void LeadOnce(const std::stop_token& stop) EXCLUDES(mutex_);
  [[nodiscard]] bool MayWrite() const { return !config_.leader_elect || election_.MayWrite(); }
  [[nodiscard]] std::shared_ptr<Leading> leading() const EXCLUDES(mutex_);
  void SetLeading(std::shared_ptr<Leading> leading) EXCLUDES(mutex_);

  const Config config_;
  Reporter reporter_;
  RoundMetrics metrics_;
  LeaderElection election_;
  Informer informer_;
  mutable Mutex mutex_;
  std::shared_ptr<Leading> leading_ GUARDED_BY(mutex_);  ///< null: another one leads
};

}  // namespace kuryr::controller
