#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/neutron/neutron_backend.h"
#include "tests/controller/backends/neutron/fake_neutron.h"

namespace kuryr::controller::neutron {

inline IpAddress Ip(const std::string& text) { return IpAddress::Parse(text).value(); }

/// An owner; uid-a is pod a of namespace team on node n1.
inline Owner Pod(const std::string& name) {
  return {.id = "uid-" + name, .scope = "team", .name = name, .node = "n1"};
}

inline PlanRequest RequestOf(const Owner& owner, const std::vector<std::string>& more = {}) {
  PlanRequest request{.owner = owner, .interfaces = {{.ifname = "eth0", .is_default = true}}};
  for (const std::string& ifname : more) request.interfaces.push_back({.ifname = ifname});
  return request;
}

inline std::string IdOf(const vif::PodVif& vif) { return *vif::Common(vif.vif).id; }

/// The error with which a call ends.
struct Failure {
  std::optional<PlanError::Kind> kind;
  std::string text;
  std::optional<std::chrono::milliseconds> retry_after;
};

/// A backend at a Neutron that does what the test says. Failures are tried again before the test's
/// end only where `times_` says so.
class NeutronBackendTest : public ::testing::Test {
 protected:
  using Kind = PlanError::Kind;
  using Vifs = std::vector<vif::PodVif>;

  ~NeutronBackendTest() override {
    neutron_.LetGo();
    backend_.reset();
  }

  void Start() {
    backend_.reset();
    backend_ = std::make_unique<NeutronBackend>(
        NeutronBackend::Parts{.api = neutron_,
                              .defaults = defaults_,
                              .hooks = {.wake = [this](const Owner& owner) { Wake(owner); },
                                        .may_write = [this] { return may_write_.load(); },
                                        .is_scope = is_scope_,
                                        .is_gone = is_gone_},
                              .workers = 4,
                              .times = times_});
  }
  /// Asks as a controller does: again whenever it is woken.
  Vifs Reserve(const PlanRequest& request) {
    while (true) {
      const size_t before = wakes();
      if (auto vifs = backend_->Reserve(request)) return *vifs;
      if (!WaitForWake(before)) return {};
    }
  }
  Vifs Reserve(const Owner& owner) { return Reserve(RequestOf(owner)); }
  Failure Fail(const PlanRequest& request) {
    try {
      (void)Reserve(request);
      return {};
    } catch (const PlanError& e) {
      return {e.kind(), e.what(), e.retry_after()};
    }
  }
  /// Tries again after each failure, until it has VIFs or 30 s have passed.
  Vifs ReserveAtLast(const PlanRequest& request) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < end) {
      try {
        return Reserve(request);
      } catch (const PlanError& e) {
        std::this_thread::sleep_for(e.retry_after().value_or(std::chrono::milliseconds(1)));
      }
    }
    return {};
  }
  /// The VIFs as an object has them once they are written.
  static Vifs Written(Vifs vifs, bool active = false) {
    for (vif::PodVif& vif : vifs) vif::Common(vif.vif).active = active;
    return vifs;
  }
  bool Release(const std::string& id) {
    while (true) {
      const size_t before = wakes();
      if (backend_->Release(id)) return true;
      if (!WaitForWake(before)) return false;
    }
  }
  bool WaitUntilActive(const Owner& owner, const Vifs& vifs) {
    while (true) {
      const size_t before = wakes();
      if (backend_->Await(owner, vifs)) return true;
      if (!WaitForWake(before)) return false;
    }
  }
  size_t wakes() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return wakes_;
  }
  bool WaitForWake(size_t before) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return woken_.wait_for(mutex_, std::chrono::seconds(30),
                           [&]()
                               KURYR_TSA(requires_capability(mutex_)) { return wakes_ > before; });
  }
  void Wake(const Owner& /*owner*/) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ++wakes_;
    woken_.notify_all();
  }

  FakeNeutron neutron_;
  PodDefaults defaults_{.subnets = {FakeNeutron::kSubnet4, FakeNeutron::kSubnet6},
                        .tags = {"cluster-a"}};
  /// A failure is told until the next attempt: long enough to be heard on a busy machine.
  NeutronBackend::Times times_{
      .retry_least = std::chrono::milliseconds(300),
      .retry_most = std::chrono::milliseconds(600),
      .search = std::chrono::hours(1),
      .pace = {std::chrono::milliseconds(1), std::chrono::milliseconds(5)}};
  std::atomic<bool> may_write_ = true;
  std::function<bool(const std::string& id)> is_scope_;
  std::function<bool(const Owner& pod)> is_gone_;
  Mutex mutex_;
  std::condition_variable_any woken_;
  size_t wakes_ GUARDED_BY(mutex_) = 0;
  std::unique_ptr<NeutronBackend> backend_;
};

}  // namespace kuryr::controller::neutron
