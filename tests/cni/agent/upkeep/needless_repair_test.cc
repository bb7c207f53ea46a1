// The upkeep is woken where nothing differs.
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

class NeedlessRepairTest : public RunningPodTest {
 protected:
  /// The number of the configuration: each write that ovs-vswitchd shall apply raises it.
  std::string ConfigNumber() { return ovs_->Vsctl({"get", "Open_vSwitch", ".", "next_cfg"}); }
};

TEST_F(NeedlessRepairTest, WritesNothingAndLosesNoPacket) {
  const int rounds = test::FromEnvironment("KURYR_ROUNDS", 500);
  const std::string target = "10.1.0." + std::to_string(binding::kFirstPod + 1);
  const Pod other = MakePod(binding::PlugScenarios().front(), binding::kFirstPod + 1);
  Connect(other);
  Ping(*first_, target);
  const cni::Config config;
  const NodeContext node = Node();
  SwitchWait switch_wait(*binding_);
  Repair repair(node, config, switch_wait);
  Upkeep upkeep({&repair});
  const std::string before = ConfigNumber();
  test::Process pings({.argv = {"nsenter", "--net=" + first_->attachment.netns, "ping", "-q", "-i",
                                "0.002", "-c", std::to_string(rounds), target}});

  for (int round = 0; round < rounds; ++round)
    ASSERT_TRUE(repair.Try(upkeep, ToString(key()), binding::Soon()));

  EXPECT_EQ(ConfigNumber(), before);
  EXPECT_THAT(pings.Wait(std::chrono::minutes(2)).out, HasSubstr(" 0% packet loss"));
}

}  // namespace
}  // namespace kuryr::cni
