#pragma once

#include <memory>
#include <optional>
#include <string>

#include "binding/drivers/binding.h"
#include "binding/netlink/link_remover.h"
#include "binding/netlink/route_socket.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr::binding {

inline Deadline Soon() { return Deadline::After(std::chrono::seconds(60)); }

/// A node's devices for pods, made for a number of pods and one more.
class BenchDevices {
 public:
  BenchDevices() = default;
  BenchDevices(const BenchDevices&) = delete;
  BenchDevices& operator=(const BenchDevices&) = delete;
  virtual ~BenchDevices() = default;

  /// Sets the places where drivers find the devices.
  virtual void Configure(BindingConfig& config) const = 0;
  /// Makes the VIF of pod `n`, counted from 1, name its device. Pods beyond the number share one
  /// device.
  virtual void Assign(vif::Vif& vif, int n) const = 0;
};

using MakeVif = vif::Vif (*)();
/// Makes the devices. Throws std::system_error if this machine cannot have them.
using MakeDevices = std::unique_ptr<BenchDevices> (*)(test::PrivateOvs& ovs, int pods);

struct BenchPod {
  Attachment attachment;
  Netns netns;
  vif::Vif vif;
  Planned planned;
};

/// A host with Open vSwitch and br-int, the bridge br-lan, and a link "uplink".
class BenchNode : public test::NetnsTest {
 public:
  BenchNode(MakeDevices make_devices, int pods);
  ~BenchNode() override;
  void TestBody() override {}

  using NetnsTest::CanMakeVlans;

  /// Stops Open vSwitch for drivers that do not use it.
  void StopOvs() { ovs_.reset(); }
  BenchPod Make(MakeVif make_vif);
  void Connect(const BenchPod& pod) {
    binding_->Connect({pod.planned, pod.attachment, pod.netns, Soon()});
  }
  void Disconnect(const BenchPod& pod) {
    binding_->Disconnect({pod.planned.plug}, pod.attachment, Soon());
  }
  /// Deletes a link of the host or the calling thread's namespace, for the floor.
  void DeleteLink(const std::string& name) {
    RouteSocket socket;
    links_.Remove(socket, {socket.FindLink(name).value()});
  }
  /// The reconfigurations of ovs-vswitchd, once it has no work left.
  [[nodiscard]] long CountReconfigurations() { return ovs_ ? ovs_->CountReconfigurations() : 0; }
  [[nodiscard]] const BindingConfig& config() const { return config_; }
  [[nodiscard]] const std::string& remote() const { return config_.ovsdb_connection; }

 private:
  std::optional<test::PrivateOvs> ovs_;
  std::unique_ptr<BenchDevices> devices_;
  BindingConfig config_;
  std::optional<Binding> binding_;
  LinkRemover links_;
  int pods_ = 0;
};

}  // namespace kuryr::binding
