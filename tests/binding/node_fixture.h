#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "binding/drivers/binding.h"
#include "tests/binding/plug_scenario.h"
#include "tests/binding/pod_attachment.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr::binding {

/// Pod 1 answers pings and stays.
inline constexpr int kFirstPod = 2;

/// A node for pods of every PlugScenario: Open vSwitch with br-int, the bridge br-lan, and "uplink"
/// with the default route, behind which is 10.1.0.254.
class NodeTest : public test::NetnsTest {
 protected:
  struct Pod {
    vif::Vif vif;
    Attachment attachment;
    Netns netns;
    Planned planned;
  };

  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] BindingConfig Config() const;
  /// A new Binding: the next call has to open what an earlier one left open for it.
  void Renew(const BindingConfig& config);
  void Renew() { binding_.emplace(config_); }
  /// A new Binding that waits so long for ovsdb-server.
  void WaitForOvsdb(std::chrono::seconds time) {
    config_.ovsdb_wait = time;
    Renew();
  }

  /// A namespace for pod `n`. From any thread.
  Pod MakePod(const PlugScenario& scenario, int n);
  void Connect(const Pod& pod) { Connect(pod, Soon()); }
  void Connect(const Pod& pod, const Deadline& deadline);
  void Disconnect(const Pod& pod);
  /// One answer within 20 s is enough.
  static void Ping(const Pod& pod, const std::string& address);

  void MakeOvsBridge();
  void RemoveOvsBridge();
  static void MakeKernelBridge();
  /// The host behind the uplink answers frames with this tag only from then on.
  void MoveFabricToVlan(int id);

  /// The state that must not change, a line each: links of the host and `pods`; bridges, ports,
  /// interfaces and QoS in the database. Waits until ovs-vswitchd has done what the database says.
  [[nodiscard]] std::set<std::string> State(const std::vector<const Netns*>& pods = {}) const;
  /// Without those that the Binding keeps.
  [[nodiscard]] size_t CountOpenFiles();
  [[nodiscard]] static size_t CountPodNetns();

  std::optional<test::PrivateOvs> ovs_;
  std::optional<Binding> binding_;
  std::optional<Netns> fabric_;

 private:
  void MakeUplink();

  BindingConfig config_;
};

}  // namespace kuryr::binding
