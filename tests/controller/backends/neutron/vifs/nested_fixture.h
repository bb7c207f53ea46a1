#pragma once

#include <string>
#include <vector>

#include "tests/controller/backends/neutron/neutron_fixture.h"

namespace kuryr::controller::neutron {

/// Pods on node n1, a virtual machine with the address 192.0.2.10 and a trunk.
class NestedTest : public NeutronBackendTest {
 protected:
  static constexpr const char* kTrunk = "3f830025-9add-43a5-b95e-2525d380e446";

  explicit NestedTest(PodVifDriver driver) {
    defaults_.driver = driver;
    defaults_.worker_subnets = {FakeNeutron::kNodeSubnet};
    times_.search = std::chrono::milliseconds(0);
    node_ = neutron_.AddNode("192.0.2.10", kTrunk).id;
    Start();
  }

  static PlanRequest Nested(const Owner& owner, const std::vector<std::string>& more = {}) {
    PlanRequest request = RequestOf(owner, more);
    request.node_addresses = {Ip("2001:db8::10"), Ip("192.0.2.10")};
    return request;
  }
  /// Starts a controller, which may find ports of a former one.
  void Restart() {
    times_.search = std::chrono::hours(1);
    Start();
  }
  [[nodiscard]] NodePort Node() const { return neutron_.Node(node_); }

  std::string node_;
};

}  // namespace kuryr::controller::neutron
