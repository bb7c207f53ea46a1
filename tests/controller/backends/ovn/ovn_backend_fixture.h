#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/backends/ovn/ovn_backend.h"
#include "tests/controller/backends/ovn/northbound_fixture.h"
#include "tests/controller/backends/ovn/ovn_text.h"
#include "tests/controller/backends/pools/backend_fixture.h"

namespace kuryr::controller::ovn {

using Vifs = std::vector<vif::PodVif>;

inline constexpr const char* kPools = R"([node_network]
enabled = true
[ovn]
nb_connection = unix:/run/nb.sock
[pool:pods]
cidr = 10.4.0.0/16, fd00:4::/48
node_prefix = 24, 64
default = true
[pool:shared]
cidr = 10.9.0.0/24
gateway = none
namespaces = *
)";

inline PlanRequest NodeRequest(const std::string& name) {
  return {.owner = {.id = "uid-" + name, .name = name, .node = name},
          .interfaces = {{.ifname = "eth0", .is_default = true}}};
}

/// The backend on a real northbound database.
class OvnBackendTest : public NorthboundTest {
 protected:
  /// A backend that waits for the end of adoption.
  std::unique_ptr<OvnBackend> MakeNext(
      const std::string& more = "",
      std::function<void(const std::string& name)> wake_policy = nullptr) {
    return std::make_unique<OvnBackend>(ReadOptionsOf(kPools + more),
                                        BackendHooks{.wake = [this](const Owner&) { Tell(); },
                                                     .may_write = [] { return true; },
                                                     .is_scope = {},
                                                     .wake_policy = std::move(wake_policy)});
  }
  /// The first backend of a cluster: no plan is written.
  std::unique_ptr<OvnBackend> Make(
      const std::string& more = "",
      std::function<void(const std::string& name)> wake_policy = nullptr) {
    auto backend = MakeNext(more, std::move(wake_policy));
    backend->EndAdoption();
    return backend;
  }
  /// The VIFs once their rows are written.
  Vifs Reserve(OvnBackend& backend, const PlanRequest& request) {
    std::optional<Vifs> vifs;
    EXPECT_TRUE(Await([&] { return (vifs = backend.Reserve(request)).has_value(); }));
    return vifs.value_or(Vifs());
  }
  /// As Reserve, also while the backend refuses.
  Vifs ReserveAgain(OvnBackend& backend, const PlanRequest& request) {
    std::optional<Vifs> vifs;
    EXPECT_TRUE(Await([&] {
      try {
        return (vifs = backend.Reserve(request)).has_value();
      } catch (const PlanError&) {
        return false;
      }
    }));
    return vifs.value_or(Vifs());
  }
  static PlanRequest PodRequest(const std::string& name, const Vifs& node) {
    PlanRequest request = pools::RequestOf(pools::Pod(name), "pods");
    for (const IpNetwork& address : vif::AddressesOf(vif::Common(node.at(0).vif)))
      request.node_networks.push_back(address.Masked());
    return request;
  }
  static std::string IdOf(const vif::PodVif& vif) { return vif::Common(vif.vif).id.value(); }
};

}  // namespace kuryr::controller::ovn
