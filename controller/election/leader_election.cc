#include "controller/election/leader_election.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "watcher/api_error.h"

namespace kuryr::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using watcher::ApiClient;
using watcher::ApiError;

/// The time since boot. Unlike steady_clock, it includes the time in which the machine sleeps.
nanoseconds Now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

/// Shortens the timeouts, so that a leader has time for a second attempt.
watcher::ApiConfig Impatient(watcher::ApiConfig api, milliseconds renew_deadline) {
  const auto quarter = std::max(std::chrono::floor<seconds>(renew_deadline / 4), seconds(1));
  api.connect_timeout = std::min(api.connect_timeout, quarter);
  api.read_timeout = std::min(api.read_timeout, quarter);
  return api;
}

/// A random time between 1 and 2.2 periods, as in client-go.
milliseconds Jittered(milliseconds period) {
  thread_local std::minstd_rand random(std::random_device{}());
  return milliseconds(std::uniform_int_distribution<milliseconds::rep>(
      period.count(), period.count() * 22 / 10)(random));
}

std::string Explained(const ApiError& error, const std::string& name_space) {
  std::string why = error.what();
  if (error.code() == ApiError::kForbidden) {
    why += "; let this user get, create and patch leases.coordination.k8s.io in namespace " +
           name_space + ", or run one controller with [controller] leader_elect = false";
  } else if (error.code() == ApiError::kNotFound) {
    why += "; [controller] lease_namespace has to be a namespace that exists";
  }
  return why;
}

}  // namespace

std::string NewIdentity() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::string uuid;
  std::getline(std::ifstream("/proc/sys/kernel/random/uuid"), uuid);
  return std::string(host.data()) + "_" + uuid;
}

LeaderElection::LeaderElection(const watcher::ApiConfig& api, ElectionConfig config)
    : api_(Impatient(api, config.renew_deadline)),
      config_(std::move(config)),
      leases_(LeasesPath(config_.name_space)) {}

bool LeaderElection::Acquire(const std::stop_token& stop, const std::function<void()>& on_wait) {
  ApiClient client(api_);
  const std::stop_callback cut(stop, [&]() noexcept { client.Stop(); });
  while (!stop.stop_requested()) {
    if (Try(client) == Outcome::kLeads) {
      Log(LogLevel::kInfo, "leading", {{"lease", config_.name}, {"identity", config_.identity}});
      return true;
    }
    on_wait();
    Wait(stop, Jittered(config_.retry_period));
  }
  return false;
}

void LeaderElection::HoldUntilLost(const std::stop_token& stop) {
  ApiClient client(api_);
  const std::stop_callback cut(stop, [&]() noexcept { client.Stop(); });
  while (true) {
    Wait(stop, config_.retry_period);
    if (stop.stop_requested()) return;
    // Another process may lead if this one slept past its deadline.
    if (!MayWrite()) break;
    Outcome outcome = Try(client);
    // After a conflict, the second attempt reads the Lease first.
    if (outcome == Outcome::kRaceLost) outcome = Try(client);
    if (outcome == Outcome::kOtherLeads) break;
  }
  StopWriting();
  Log(LogLevel::kWarning, "leading no more",
      {{"lease", config_.name}, {"leader", leader()}, {"problem", problem().value_or("")}});
}

void LeaderElection::Release() noexcept {
  StopWriting();
  if (!std::exchange(wrote_, false)) return;
  try {
    ApiClient client(api_);
    Look(client);
    if (seen_->holder != config_.identity || seen_->version.empty()) return;
    Learn(ParseLease(client.Patch(leases_ + "/" + config_.name, watcher::PatchType::kMerge,
                                  LeasePatch(*seen_, {.holder = "",
                                                      .duration = seconds(1),
                                                      .now = std::chrono::system_clock::now()}))));
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "the lease is not released; another may lead when it has expired",
        {{"lease", config_.name}, {"error", e.what()}});
  }
}

LeaderElection::Outcome LeaderElection::Try(ApiClient& client) {
  try {
    if (!std::exchange(newest_, false)) Look(client);
    const bool may_take = MayTake();
    if (may_take) Write(client);
    const MutexLock lock(mutex_);
    problem_.reset();
    return may_take ? Outcome::kLeads : Outcome::kOtherLeads;
  } catch (const ApiError& e) {
    // Another process was faster, or the Lease was deleted after it was read.
    const bool is_deleted = e.code() == ApiError::kNotFound && seen_ && !seen_->version.empty();
    if (e.code() == ApiError::kConflict || is_deleted) return Outcome::kRaceLost;
    return Fail(Explained(e, config_.name_space));
  } catch (const std::exception& e) {
    return client.stopped() ? Outcome::kFailed : Fail(e.what());
  }
}

LeaderElection::Outcome LeaderElection::Fail(const std::string& why) {
  const MutexLock lock(mutex_);
  if (problem_ != why) {
    Log(LogLevel::kError, "the lease cannot be had; it will be tried again",
        {{"lease", config_.name}, {"error", why}});
  }
  problem_ = why;
  return Outcome::kFailed;
}

void LeaderElection::Look(ApiClient& client) {
  try {
    Learn(ParseLease(client.Get(leases_ + "/" + config_.name)));
  } catch (const ApiError& e) {
    if (e.code() != ApiError::kNotFound) throw;
    Learn({.holder = seen_ ? seen_->holder : ""});
  }
}

void LeaderElection::Learn(Lease lease) {
  if (!seen_ || seen_->record != lease.record) seen_since_ = Now();
  seen_ = std::move(lease);
  const MutexLock lock(mutex_);
  if (leader_ == seen_->holder) return;
  leader_ = seen_->holder;
  Log(LogLevel::kInfo, "the lease has a new holder",
      {{"lease", config_.name}, {"leader", Printable(leader_, 200)}});
}

bool LeaderElection::MayTake() const {
  return seen_->holder.empty() || seen_->holder == config_.identity ||
         Now() - seen_since_ > config_.lease_duration;
}

void LeaderElection::Write(ApiClient& client) {
  const Tenure tenure = {.holder = config_.identity,
                         .duration = config_.lease_duration,
                         .now = std::chrono::system_clock::now()};
  const nanoseconds sent = Now();
  wrote_ = true;
  Learn(ParseLease(seen_->version.empty()
                       ? client.Post(leases_, NewLease(config_.name, tenure))
                       : client.Patch(leases_ + "/" + config_.name, watcher::PatchType::kMerge,
                                      LeasePatch(*seen_, tenure))));
  newest_ = true;
  may_write_until_ = (sent + config_.renew_deadline).count();
}

bool LeaderElection::MayWrite() const noexcept { return Now().count() < may_write_until_; }

std::string LeaderElection::leader() const {
  const MutexLock lock(mutex_);
  return leader_;
}

std::optional<std::string> LeaderElection::problem() const {
  const MutexLock lock(mutex_);
  return problem_;
}

void LeaderElection::Wait(const std::stop_token& stop, milliseconds time) {
  const MutexLock lock(mutex_);
  changed_.wait_for(mutex_, stop, time, [] { return false; });
}

}  // namespace kuryr::controller
