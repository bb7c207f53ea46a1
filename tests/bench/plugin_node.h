#pragma once

#include <string>

#include "binding/netlink/link_remover.h"
#include "tests/cni/plugin/plugin_fixture.h"
#include "vif/vif.h"

namespace kuryr::test {

/// The tests' node for benchmarks: Open vSwitch, a fake API server, and pods to plug.
class PluginNode : public PluginTest {
 public:
  PluginNode() { SetUp(); }
  ~PluginNode() override { TearDown(); }
  void TestBody() override {}

  using PluginTest::agent_;
  using PluginTest::Annotate;
  using PluginTest::Call;
  using PluginTest::MakePod;
  using PluginTest::Run;
  using PluginTest::StartAgent;
  using PluginTest::Vif;
  using PluginTest::work_;

  /// The agent's way to remove links, for the floor.
  [[nodiscard]] binding::LinkRemover& links() { return links_; }
  [[nodiscard]] std::string Remote() const { return ovs_->remote(); }
  TestPod ActivePod() {
    TestPod pod = MakePod("pod" + std::to_string(pods_made_));
    Annotate(pod, Vif(pod, true));
    return pod;
  }
  /// Deletes the pod, as after an answered DEL: the agent forgets its plan.
  void Forget(const TestPod& pod) { api_->Delete("pods", "default", pod.name); }

 private:
  binding::LinkRemover links_;
};

/// The floor of an ADD and a DEL: their netlink requests and OVSDB transactions in a process that
/// does nothing else, and the kernel's word that the links are gone.
void BareAdd(PluginNode& node, const TestPod& pod, const vif::Vif& vif);
void BareDel(PluginNode& node, const TestPod& pod);

}  // namespace kuryr::test
