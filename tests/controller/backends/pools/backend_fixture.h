#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "controller/backends/pools/pool_backend.h"
#include "tests/controller/backends/pools/pools_text.h"

namespace kuryr::controller::pools {

/// A pool of three addresses for all pods.
inline constexpr const char* kThree =
    "[pool:blue]\ncidr = 10.1.0.0/29\nranges = 10.1.0.2-10.1.0.4\ndefault = true\n";

inline IpAddress Ip(const std::string& text) { return IpAddress::Parse(text).value(); }
inline IpNetwork Net(const std::string& text) { return IpNetwork::Parse(text).value(); }

/// An owner; uid-a is pod a of namespace team on node n1.
inline Owner Pod(const std::string& name, const std::string& scope = "team",
                 const std::string& node = "n1") {
  return {.id = "uid-" + name, .scope = scope, .name = name, .node = node};
}

inline PlanRequest RequestOf(const Owner& owner, const std::string& network = "") {
  return {.owner = owner,
          .interfaces = {{.ifname = "eth0", .is_default = true, .network = network}}};
}

inline std::vector<std::string> AddressesOf(const vif::PodVif& pod_vif) {
  std::vector<std::string> addresses;
  const vif::VifBase& vif = vif::Common(pod_vif.vif);
  for (const vif::Subnet& subnet : *vif.network->subnets) {
    for (const IpNetwork& address : vif::FixedIpsOf(vif, subnet))
      addresses.push_back(address.address.ToString());
  }
  return addresses;
}

/// The VIFs as a plan is written.
inline std::string Text(const std::vector<vif::PodVif>& vifs) {
  return vif::EncodeAnnotation(vifs);
}

inline std::string MacOf(const vif::PodVif& vif) {
  return vif::Common(vif.vif).address->ToString();
}
inline std::string PoolOf(const vif::PodVif& vif) {
  return vif::Common(vif.vif).network->label.value();
}

/// The error with which a call ends; kind and text in one.
struct Failure {
  std::optional<PlanError::Kind> kind;
  std::string text;
  std::optional<std::chrono::milliseconds> retry_after;
};

template <typename Call>
Failure FailureOf(const Call& call) {
  try {
    call();
    return {};
  } catch (const PlanError& e) {
    return {e.kind(), e.what(), e.retry_after()};
  }
}

class PoolBackendTest : public testing::Test {
 protected:
  using Kind = PlanError::Kind;
  using Vifs = std::vector<vif::PodVif>;

  /// Makes a backend that knows nothing yet, as at the start of a controller.
  void Start(const std::string& text, uint64_t seed = 1) {
    backend_ = std::make_unique<PoolBackend>(
        ReadPoolsOf(text), seed, [this] { return now_; },
        [this](const Owner& owner) { woken_.push_back(owner.name); });
  }
  Vifs Reserve(const PlanRequest& request) { return backend_->Reserve(request).value(); }
  Vifs Reserve(const Owner& owner) { return Reserve(RequestOf(owner)); }
  Failure Fail(const PlanRequest& request) {
    return FailureOf([&] { (void)backend_->Reserve(request); });
  }
  Failure FailToAdopt(const Owner& owner, const Vifs& vifs) {
    return FailureOf([&] { backend_->Adopt(owner, vifs); });
  }
  void Pass(std::chrono::seconds time) { now_ += time; }
  NetworkUsage UsageOf(const std::string& pool, IpFamily family = IpFamily::kIpv4) {
    for (const NetworkUsage& usage : backend_->Usage()) {
      if (usage.network == pool && usage.family == family) return usage;
    }
    return {};
  }

  /// The owners woken since the last call.
  std::vector<std::string> Woken() { return std::exchange(woken_, {}); }

  TimePoint now_{};
  std::vector<std::string> woken_;  ///< by name
  std::unique_ptr<PoolBackend> backend_;
};

}  // namespace kuryr::controller::pools
