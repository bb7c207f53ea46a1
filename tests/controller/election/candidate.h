#pragma once

#include <condition_variable>
#include <functional>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <thread>

#include "base/thread_annotations.h"
#include "controller/election/leader_election.h"

namespace kuryr::controller {

/// A candidate for the Lease, in a thread of its own.
class Candidate {
 public:
  using OnTerm = std::function<void(const Candidate& leader)>;

  /// `on_term` is called when a term begins.
  Candidate(const watcher::ApiConfig& api, const ElectionConfig& config, OnTerm on_term = {})
      : election_(api, config),
        on_term_(std::move(on_term)),
        thread_([this](const auto& stop) { Run(stop); }) {}

  [[nodiscard]] const LeaderElection& election() const { return election_; }
  /// Waits for a term's begin or end. False after 30 s.
  [[nodiscard]] bool BeginsTerm(int count) { return WaitFor(begun_, count); }
  [[nodiscard]] bool EndsTerm(int count) { return WaitFor(ended_, count); }
  /// The number of ended terms.
  [[nodiscard]] int ended() {
    const MutexLock lock(mutex_);
    return ended_;
  }
  /// Stops in order: the Lease is released.
  void Stop() {
    thread_.request_stop();
    thread_.join();
  }

 private:
  void Run(const std::stop_token& stop) {
    while (election_.Acquire(stop)) {
      if (on_term_) on_term_(*this);
      Count(begun_);
      election_.HoldUntilLost(stop);
      election_.Release();
      Count(ended_);
    }
  }
  void Count(int& terms) {
    const MutexLock lock(mutex_);
    ++terms;
    changed_.notify_all();
  }
  [[nodiscard]] bool WaitFor(const int& terms, int count) {
    const MutexLock lock(mutex_);
    return changed_.wait_for(mutex_, std::chrono::seconds(30), [&] { return terms >= count; });
  }

  LeaderElection election_;
  const OnTerm on_term_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  int begun_ = 0;
  int ended_ = 0;
  std::jthread thread_;
};

/// Times so long that no Lease or term ends by itself in a test.
inline ElectionConfig Patient(const std::string& identity) {
  using namespace std::chrono_literals;
  return {.identity = identity, .lease_duration = 10h, .renew_deadline = 5h, .retry_period = 20ms};
}
/// Times so short that a Lease ends soon without a renewal.
inline ElectionConfig Hasty(const std::string& identity) {
  using namespace std::chrono_literals;
  return {.identity = identity, .lease_duration = 3s, .renew_deadline = 2s, .retry_period = 50ms};
}

inline constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
inline constexpr const char* kLease =
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kuryr-controller";

/// A Lease that another client may have left.
inline nlohmann::json LeaseWith(const nlohmann::json& spec) {
  return {{"apiVersion", "coordination.k8s.io/v1"},
          {"kind", "Lease"},
          {"metadata", {{"namespace", "kube-system"}, {"name", "kuryr-controller"}}},
          {"spec", spec}};
}

}  // namespace kuryr::controller
