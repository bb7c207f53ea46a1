#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "controller/backends/neutron/ports/port_request.h"
#include "tests/controller/backends/neutron/neutron_fixture.h"

namespace kuryr::controller::neutron {

/// A backend with pools: fewer than two ready ports are too few, and a fill makes three.
class PoolTest : public NeutronBackendTest {
 protected:
  PoolTest() {
    defaults_.pool = {.enabled = true, .least = 2, .batch = 3, .interval = std::chrono::seconds(0)};
    defaults_.security_groups = {"group-a"};
    times_.search = std::chrono::milliseconds(0);
    times_.pool = {.late = std::chrono::hours(1),
                   .list = std::chrono::hours(1),
                   .doubt = std::chrono::milliseconds(1),
                   .retry = std::chrono::milliseconds(1)};
  }

  [[nodiscard]] static PoolCounts CountsOf(const NeutronBackend& backend) {
    PoolCounts all;
    for (const auto& [key, counts] : backend.pools()) all.Add(counts);
    return all;
  }
  [[nodiscard]] PoolCounts counts() const { return CountsOf(*backend_); }
  /// False after 30 s. No event tells when a port becomes ready.
  template <typename Condition>
  [[nodiscard]] bool WaitForCounts(const Condition& condition) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition(counts())) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  [[nodiscard]] bool WaitForReady(size_t ready) const {
    return WaitForCounts([&](const PoolCounts& all) { return all.ready == ready; });
  }
  /// Reserves for a first pod, which makes its own port, and waits until the pool is filled.
  Vifs ReserveFirst() {
    Vifs vifs = Reserve(Pod("first"));
    EXPECT_TRUE(WaitForCounts([](const PoolCounts& all) {
      return all.ready == 3 && all.fills + all.failed_fills > 0;
    })) << "a fill is counted after its last port is ready";
    return vifs;
  }

  /// Starts a controller that leads. Its first pod asks for an address of its own, and so takes no
  /// ready port.
  void Lead(PlanRequest request = RequestOf(Pod("leads"))) {
    Start();
    request.interfaces[0].addresses = {Ip("10.10.0.199")};
    (void)Reserve(request);
  }

  /// The ready ports as Neutron has them.
  [[nodiscard]] std::vector<Port> ReadyPortsNow() const {
    std::vector<Port> ready = neutron_.ports();
    std::erase_if(ready, [](const Port& port) { return port.name != kReadyName; });
    return ready;
  }
  [[nodiscard]] Port PortAt(const std::string& id) const {
    for (Port& port : neutron_.ports()) {
      if (port.id == id) return port;
    }
    return {};
  }
};

}  // namespace kuryr::controller::neutron
