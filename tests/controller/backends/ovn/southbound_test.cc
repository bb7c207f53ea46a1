#include "controller/backends/ovn/southbound/southbound.h"

#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tests/controller/backends/ovn/northbound_fixture.h"

namespace kuryr::controller::ovn {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSbSchema = "/usr/share/ovn/ovn-sb.ovsschema";
constexpr const char* kSbRemote = "unix:/run/sb.sock";

std::string MarkOf(const std::string& node, const std::string& machine) {
  return ChassisMark{.cluster = "kuryr", .node = node, .machine = machine}.ToString();
}

/// A real southbound database, whose chassis a test makes as ovn-controller does.
class SouthboundTest : public NorthboundTest {
 protected:
  void SetUp() override {
    NorthboundTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(test::RunProgram({.argv = {"ovsdb-tool", "create", "/run/sb.db", kSbSchema}}).status,
              0);
    sb_server_.emplace(
        test::Command{.argv = {"ovsdb-server", "/run/sb.db", std::string("--remote=p") + kSbRemote,
                               "--unixctl=/run/sb.ctl", "-vconsole:info"}});
    sb_server_->WaitForOutput("ovsdb-server (Open vSwitch)");
  }

  static std::string Sbctl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"ovn-sbctl", std::string("--db=") + kSbRemote, "--timeout=60"});
    test::ProcessResult result = test::RunProgram({.argv = std::move(arguments)});
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  }
  static void AddChassis(const std::string& name, const std::string& hostname,
                         const std::string& address, const std::string& options) {
    Sbctl({"chassis-add", name, "geneve", address, "--", "set", "Chassis", name,
           "hostname=" + hostname, "--", "create", "Chassis_Private", "name=" + name});
    if (!options.empty())
      Sbctl({"set", "Chassis", name, "other_config:ovn-cms-options=\"" + options + "\""});
  }
  static std::string NamesIn(const std::string& table) {
    std::string names = Sbctl({"--bare", "--columns=name", "list", table});
    std::erase(names, '\n');
    return names;
  }

  void SetMachine(const std::string& node, std::optional<std::string> machine) {
    const std::lock_guard lock(machines_mutex_);
    machines_[node] = std::move(machine);
  }
  std::unique_ptr<Southbound> Make(std::chrono::milliseconds grace = std::chrono::milliseconds(1)) {
    return std::make_unique<Southbound>(
        Southbound::Parts{.remotes = kSbRemote,
                          .cluster = "kuryr",
                          .hooks = {.wake = [this](const Owner&) { Tell(); },
                                    .may_write = [this] { return may_write_.load(); },
                                    .is_scope = {},
                                    .find_machine =
                                        [this](const std::string& node) {
                                          const std::lock_guard lock(machines_mutex_);
                                          ++asked_;
                                          return machines_[node];
                                        }},
                          .grace = grace});
  }
  bool AwaitAsked(unsigned times) {
    return Await([&] {
      const std::lock_guard lock(machines_mutex_);
      return asked_ >= times;
    });
  }

  std::atomic<bool> may_write_ = true;

 private:
  std::optional<test::Process> sb_server_;
  std::mutex machines_mutex_;
  std::map<std::string, std::optional<std::string>> machines_;
  unsigned asked_ = 0;
};

TEST_F(SouthboundTest, ChassisOfMachinesThatAreGoneAreRemovedWithTheirEncaps) {
  AddChassis("0af1", "n1", "192.0.2.1", MarkOf("n1", "m1"));
  AddChassis("0af2", "n2", "192.0.2.2", MarkOf("n2", "m2"));
  AddChassis("0af3", "n3", "192.0.2.3", MarkOf("n3", "m3"));
  AddChassis("hypervisor", "n4", "192.0.2.4", "enable-chassis-as-gw");
  SetMachine("n1", "new");
  SetMachine("n3", "m3");
  const auto southbound = Make();
  southbound->SetNode({.name = "n1", .machine = "new", .addresses = {}});
  southbound->SetNode({.name = "n3", .machine = "m3", .addresses = {}});
  southbound->Begin();

  ASSERT_TRUE(
      Await([] { return NamesIn("Chassis").size() == std::string("0af3hypervisor").size(); }));
  EXPECT_THAT(NamesIn("Chassis"), ::testing::AnyOf("0af3hypervisor", "hypervisor0af3"));
  EXPECT_THAT(NamesIn("Chassis_Private"), ::testing::AnyOf("0af3hypervisor", "hypervisor0af3"));
  AddChassis("0af9", "n1", "192.0.2.1", MarkOf("n1", "new"));
  EXPECT_TRUE(Await([&] { return !southbound->FindProblem("n1"); }));
}

TEST_F(SouthboundTest, NodeThatTheApiServerHasKeepsItsChassis) {
  AddChassis("0af1", "n1", "192.0.2.1", MarkOf("n1", "m1"));
  SetMachine("n1", "m1");
  const auto southbound = Make();
  southbound->Begin();  // No watch has told of the node.

  ASSERT_TRUE(AwaitAsked(3));
  EXPECT_EQ(NamesIn("Chassis"), "0af1");
}

TEST_F(SouthboundTest, ChassisThatComesBackIsOfAMachineThatRuns) {
  AddChassis("0af1", "n1", "192.0.2.1", MarkOf("n1", "m1"));
  const auto southbound = Make();
  southbound->Begin();
  ASSERT_TRUE(Await([] { return NamesIn("Chassis").empty(); }));

  AddChassis("0af1", "n1", "192.0.2.1", MarkOf("n1", "m1"));
  AddChassis("0af2", "n2", "192.0.2.2", MarkOf("n2", "m2"));

  ASSERT_TRUE(Await([] { return NamesIn("Chassis") == "0af1"; }));
}

TEST_F(SouthboundTest, NothingIsRemovedWhileAnotherControllerLeads) {
  may_write_ = false;
  AddChassis("0af1", "n1", "192.0.2.1", MarkOf("n1", "m1"));
  const auto southbound = Make();
  southbound->SetNode({.name = "n1", .machine = "m2", .addresses = {}});
  southbound->Begin();

  ASSERT_TRUE(Await([&] { return southbound->FindProblem("n1").has_value(); }));
  EXPECT_THAT(southbound->FindProblem("n1").value(), HasSubstr("earlier machine"));
  EXPECT_EQ(NamesIn("Chassis"), "0af1");
  may_write_ = true;
  EXPECT_TRUE(Await([] { return NamesIn("Chassis").empty(); }));
}

}  // namespace
}  // namespace kuryr::controller::ovn
