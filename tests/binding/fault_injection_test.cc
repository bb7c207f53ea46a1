// Every call of every driver fails in turn: what Connect and Disconnect do then.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "binding/netlink/route_socket.h"
#include "tests/binding/damage.h"
#include "tests/binding/device_scenario.h"
#include "tests/binding/differences.h"
#include "tests/binding/node_fixture.h"
#include "tests/support/call_fault.h"
#include "tests/support/environment.h"

namespace kuryr::binding {
namespace {

using test::CallFault;
using ::testing::Combine;
using ::testing::ContainsRegex;
using ::testing::Values;
using ::testing::ValuesIn;

using Parameter = std::tuple<PlugScenario, CallFault::Kind>;

/// One call of a Connect or Disconnect that failed.
struct Attempt {
  bool reached = false;              ///< or there were fewer calls
  std::string failed;                ///< the call; empty when nobody waited for its answer
  std::optional<std::string> error;  ///< the exception's text
};

class FaultInjectionTest : public NodeTest, public ::testing::WithParamInterface<Parameter> {
 protected:
  [[nodiscard]] const PlugScenario& scenario() const { return std::get<0>(GetParam()); }

  void SetUp() override {
    NodeTest::SetUp();
    if (scenario().needs_vlans && !CanMakeVlans("uplink")) GTEST_SKIP() << kNoVlans;
    if (scenario().needs_vlans) MoveFabricToVlan(101);
    if (scenario().devices != nullptr) {
      try {
        AddDevices();
      } catch (const std::system_error& e) {
        GTEST_SKIP() << "no such devices on this machine: " << e.what();
      }
    }
    WaitForOvsdb(std::chrono::seconds(0));
    Reset();
    pod_.emplace(MakePod(scenario(), 1));
    peer_.emplace(MakePod(scenario(), 2));
    // libopenvswitch initialises itself once in a process.
    ExpectNextConnectWorks();
    Reset();
    before_ = PodsState();
    files_ = CountOpenFiles();
  }

  void AddDevices() {
    devices_ = scenario().devices(*ovs_);
    BindingConfig config = Config();
    devices_->Configure(config);
    Renew(config);
  }

  Attempt TryWithFault(int number, const std::function<void()>& action) {
    Renew();
    CallFault fault(std::get<1>(GetParam()), number);
    Attempt attempt;
    try {
      action();
    } catch (const std::exception& e) {
      attempt.error = e.what();
    }
    attempt.reached = fault.reached();
    attempt.failed = fault.failed();
    return attempt;
  }

  /// The text names what the step is about ("450e5c61-1" is in most names on the host), or what
  /// could not even be opened.
  void ExpectNamed(const std::string& error) {
    const Plug& plug = pod_->planned.plug;
    const auto names = {plug.ifname, plug.host_interface, plug.bridge, plug.device,
                        std::string("450e5c61-1")};
    for (const std::string& name : names) {
      if (!name.empty() && error.find(name) != std::string::npos) return;
    }
    const std::string more = scenario().names.empty() ? "" : scenario().names + "|";
    EXPECT_THAT(error,
                ContainsRegex(more + "find link |find the route to |open a route socket|namespace|"
                                     "open a sock_diag socket|list the sockets that listen on|"
                                     "(read|write) /proc/sys/|connect to OVSDB at unix:|"
                                     "OVSDB read cur_cfg at unix:|wait for ovs-vswitchd to"));
  }

  void ExpectNextConnectWorks() {
    Connect(*pod_);
    if (scenario().peer == "10.1.0.2") Connect(*peer_);
    if (!scenario().peer.empty()) Ping(*pod_, scenario().peer);
    Disconnect(*pod_);
    Disconnect(*peer_);
  }

  /// Bridges outlive their last pod.
  void Reset() {
    using Bridge = PlugScenario::Bridge;
    if (scenario().bridge == Bridge::kOfOvsToBeMade) RemoveOvsBridge();
    if (scenario().bridge == Bridge::kOfKernelToBeMade) RouteSocket().DeleteLink("br-lan");
  }

  [[nodiscard]] std::set<std::string> PodsState() const {
    auto state = State({&pod_->netns, &peer_->netns});
    if (devices_) state.merge(devices_->State());
    return state;
  }

  std::unique_ptr<NodeDevices> devices_;
  std::optional<Pod> pod_;
  std::optional<Pod> peer_;
  std::set<std::string> before_;
  size_t files_ = 0;
};

/// Where a Connect may succeed all the same: the answer to a request that needs none is lost, or
/// the kernel knows no extended acknowledgements, or a connection that was just opened is found
/// dead before anything was asked, and opened again, or there was no half-written file to remove.
bool IsForgivable(const std::string& call) {
  return call.empty() || call == "setsockopt" || call.find("OVSDB") != std::string::npos ||
         call.starts_with("unlinkat .");
}

/// Each call fails once. As nothing is left, the next connect is tried after each KURYR_FAULT_STEP.
TEST_P(FaultInjectionTest, FailedConnectLeavesNothingAndTheNextOneWorks) {
  const int step = test::FromEnvironment("KURYR_FAULT_STEP", 8);
  for (int number = 1;; ++number) {
    const Attempt attempt = TryWithFault(number, [&] { Connect(*pod_); });
    if (!attempt.reached) break;
    SCOPED_TRACE(attempt.failed + ", call " + std::to_string(number) + ": " +
                 attempt.error.value_or("no error"));
    if (attempt.error) {
      ExpectNamed(*attempt.error);
      EXPECT_EQ(PodsState(), before_);
    } else {
      EXPECT_TRUE(IsForgivable(attempt.failed));
      EXPECT_EQ(FirstOf(binding_->Check({pod_->planned, pod_->attachment, pod_->netns, Soon()})),
                std::nullopt);
      Disconnect(*pod_);
    }
    if (number % step == 0) ExpectNextConnectWorks();
    Reset();
    ASSERT_EQ(PodsState(), before_);
  }
  EXPECT_EQ(CountOpenFiles(), files_);
}

TEST_P(FaultInjectionTest, FailedDisconnectIsFinishedByTheNext) {
  for (int number = 1;; ++number) {
    Connect(*pod_);
    const Attempt attempt = TryWithFault(number, [&] { Disconnect(*pod_); });
    SCOPED_TRACE(attempt.failed + ", call " + std::to_string(number) + ": " +
                 attempt.error.value_or("no error"));
    if (attempt.error) {
      ExpectNamed(*attempt.error);
      Disconnect(*pod_);
    }
    Reset();
    ASSERT_EQ(PodsState(), before_);
    if (!attempt.reached) break;
  }
  EXPECT_EQ(CountOpenFiles(), files_);
}

class RepairFaultTest : public FaultInjectionTest {};

/// A killed Repair ends like a failed one: it undoes nothing. Tries each call of KURYR_FAULT_STEP.
TEST_P(RepairFaultTest, FailedRepairIsFinishedByTheNext) {
  Connect(*pod_);
  const std::string inside =
      RunIn(pod_->netns, {"ip", "-o", "address", "show", "eth0", "scope", "global"});
  const int step = test::FromEnvironment("KURYR_FAULT_STEP", 8);
  int first = 0;
  for (const Damage& damage : DamagesOf(pod_->planned.plug)) {
    first = first % step + 1;
    for (int number = first;; number += step) {
      for (const Damage::Command& command : damage.commands) {
        if (command[0] == "ovs-vsctl") {
          ovs_->Vsctl({command.begin() + 1, command.end()});
        } else {
          RunOnHost(command);
        }
      }
      const PlugRequest request = {pod_->planned, pod_->attachment, pod_->netns, Soon()};
      const Attempt attempt = TryWithFault(number, [&] { binding_->Repair(request); });
      SCOPED_TRACE(damage.name + ", " + attempt.failed + ", call " + std::to_string(number) + ": " +
                   attempt.error.value_or("no error"));

      EXPECT_NO_THROW(binding_->Repair(request));

      ASSERT_EQ(FirstOf(binding_->Check(request)), std::nullopt);
      EXPECT_EQ(RunIn(pod_->netns, {"ip", "-o", "address", "show", "eth0", "scope", "global"}),
                inside);
      if (!attempt.reached) break;
    }
  }
  Disconnect(*pod_);
  EXPECT_EQ(CountOpenFiles(), files_);
}

/// For scenarios with ports of Open vSwitch.
class PatientFaultTest : public FaultInjectionTest {
 protected:
  /// A call that a restart of ovsdb-server lets fail; sockets of netlink are connected, too.
  static bool IsOfOvsdb(const Attempt& attempt) {
    const bool is_exchange =
        attempt.failed == "connect" || attempt.failed.find("OVSDB") != std::string::npos;
    return is_exchange && attempt.error->find("route socket") == std::string::npos;
  }
};

TEST_P(PatientFaultTest, EachCallToOvsdbMayFailOnceAndNothingIsThereTwice) {
  WaitForOvsdb(std::chrono::seconds(60));
  for (int number = 1;; ++number) {
    const Attempt attempt = TryWithFault(number, [&] { Connect(*pod_); });
    if (!attempt.reached) break;
    SCOPED_TRACE(attempt.failed + ", call " + std::to_string(number) + ": " +
                 attempt.error.value_or("no error"));
    if (attempt.error) {
      EXPECT_FALSE(IsOfOvsdb(attempt));
      ExpectNextConnectWorks();
    } else {
      EXPECT_EQ(FirstOf(binding_->Check({pod_->planned, pod_->attachment, pod_->netns, Soon()})),
                std::nullopt);
      Disconnect(*pod_);
    }
    Reset();
    ASSERT_EQ(PodsState(), before_);
  }
}

std::string NameOf(const ::testing::TestParamInfo<Parameter>& info) {
  const bool not_done = std::get<1>(info.param) == CallFault::Kind::kNotDone;
  return std::get<0>(info.param).name + (not_done ? "NotDone" : "AnswerLost");
}

std::vector<PlugScenario> Named(const std::vector<PlugScenario>& all,
                                const std::set<std::string>& names) {
  std::vector<PlugScenario> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some),
               [&](const PlugScenario& scenario) { return names.contains(scenario.name); });
  return some;
}

std::vector<PlugScenario> WithPorts(const std::vector<PlugScenario>& all) {
  return Named(all, {"Ovs", "OvsWithNewBridge", "Hybrid", "HostDevice", "VhostUserClient",
                     "VhostUserServer"});
}

const auto kKinds = Values(CallFault::Kind::kNotDone, CallFault::Kind::kAnswerLost);

INSTANTIATE_TEST_SUITE_P(Drivers, FaultInjectionTest, Combine(ValuesIn(PlugScenarios()), kKinds),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Devices, FaultInjectionTest, Combine(ValuesIn(DeviceScenarios()), kKinds),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Drivers, RepairFaultTest,
                         Combine(ValuesIn(Named(PlugScenarios(), {"Ovs", "Hybrid", "Bridge"})),
                                 kKinds),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Drivers, PatientFaultTest,
                         Combine(ValuesIn(WithPorts(PlugScenarios())), kKinds), NameOf);
INSTANTIATE_TEST_SUITE_P(Devices, PatientFaultTest,
                         Combine(ValuesIn(WithPorts(DeviceScenarios())), kKinds), NameOf);

}  // namespace
}  // namespace kuryr::binding
