// The repair of a running pod's attachment, without the agent's other parts.
#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "cni/agent/upkeep/repair.h"
#include "tests/cni/agent/upkeep/running_pod_fixture.h"
#include "tests/support/environment.h"
#include "tests/support/subprocess.h"

namespace kuryr::cni {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RepairJobTest : public RunningPodTest {
 protected:
  void TryRepair(int times = 1) {
    const cni::Config config;
    const NodeContext node = Node();
    SwitchWait switch_wait(*binding_);
    Repair repair(node, config, switch_wait);
    Upkeep upkeep({&repair});
    for (int i = 0; i < times; ++i)
      ASSERT_TRUE(repair.Try(upkeep, ToString(key()), binding::Soon()));
  }
  void Break() {
    const std::string& tap = first_->planned.plug.host_interface;
    RunOnHost({"ip", "link", "set", "dev", tap, "down", "mtu", "1300", "alias", ""});
    ovs_->Vsctl({"del-port", tap});
  }
  /// The number of the configuration: each write that ovs-vswitchd shall apply raises it.
  std::string ConfigNumber() { return ovs_->Vsctl({"get", "Open_vSwitch", ".", "next_cfg"}); }
  [[nodiscard]] binding::Differences Differences() const {
    return binding_->Check({.planned = first_->planned,
                            .attachment = first_->attachment,
                            .pod = first_->netns,
                            .deadline = binding::Soon()});
  }
};

TEST_F(RepairJobTest, NeedlessWakeUpsWriteNothingAndLoseNoPacket) {
  const int rounds = test::FromEnvironment("KURYR_ROUNDS", 500);
  const std::string target = "10.1.0." + std::to_string(binding::kFirstPod + 1);
  const Pod other = MakePod(binding::PlugScenarios().front(), binding::kFirstPod + 1);
  Connect(other);
  Ping(*first_, target);
  const std::string before = ConfigNumber();
  test::Process pings({.argv = {"nsenter", "--net=" + first_->attachment.netns, "ping", "-q", "-i",
                                "0.002", "-c", std::to_string(rounds), target}});

  TryRepair(rounds);

  EXPECT_EQ(ConfigNumber(), before);
  EXPECT_THAT(pings.Wait(std::chrono::minutes(2)).out, HasSubstr(" 0% packet loss"));
}

TEST_F(RepairJobTest, KilledRepairIsFinishedByTheNext) {
  const int step = test::FromEnvironment("KURYR_FAULT_STEP", 8);
  bool is_killed = true;
  for (int number = 1; is_killed; number += step) {
    SCOPED_TRACE("call " + std::to_string(number));
    Break();
    ASSERT_THAT(Differences(), Not(IsEmpty()));

    is_killed = IsKilledAt(number, [this] { TryRepair(); });
    TryRepair();

    ASSERT_THAT(Differences(), IsEmpty());
    EXPECT_EQ(ovs_->Vsctl({"list-ports", "br-int"}), first_->planned.plug.host_interface);
  }
}

}  // namespace
}  // namespace kuryr::cni
