#include <gtest/gtest.h>
#include <sys/resource.h>

#include <map>
#include <string>

#include "tests/cni/agent/agent_fixture.h"

// What a call costs that no clock has to measure. A buffer of 4 MiB for a small file once cost
// every call 2 ms and 1,024 page faults, and no test saw it.

namespace kuryr::test {
namespace {

class CallCostTest : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    AddBridge();
#ifndef NDEBUG
    GTEST_SKIP() << "SKIPPED: these are bounds of what is shipped; lane limits has it";
#endif
  }
  [[nodiscard]] Command CallOf(const std::string& command, const TestPod& pod) const {
    return Call(command, pod, {{"stdin", StatusConfig()}});
  }
  /// The page faults of the whole program, which vfork and exec begin: none are this process's.
  static long PageFaults(const Command& command) {
    rusage before{};
    rusage after{};
    EXPECT_EQ(::getrusage(RUSAGE_CHILDREN, &before), 0);
    const ProcessResult result = RunProgram(command);
    EXPECT_EQ(::getrusage(RUSAGE_CHILDREN, &after), 0);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    return after.ru_minflt - before.ru_minflt;
  }
  /// The same with so much memory of its own (RLIMIT_DATA), which an allocation may not exceed.
  static Command Within(const std::string& bytes, Command command) {
    command.argv.insert(command.argv.begin(), {"prlimit", "--data=" + bytes});
    return command;
  }
};

TEST_F(CallCostTest, ACallByTheAgentTouchesFewPages) {
  const TestPod pod = ActivePod("nginx");
  // Half as many again as they need. VERSION has those of the program itself.
  const std::map<std::string, long> most = {
      {"VERSION", 150}, {"STATUS", 165}, {"ADD", 165}, {"DEL", 180}};
  for (const char* command : {"VERSION", "STATUS", "ADD", "DEL"}) {
    const long faults = PageFaults(CallOf(command, pod));
    RecordProperty(std::string(command) + "_page_faults", std::to_string(faults));
    EXPECT_LE(faults, most.at(command)) << command;
  }
}

TEST_F(CallCostTest, ACallWithoutTheAgentTouchesFewPages) {
  const TestPod pod = ActivePod("nginx");
  StopAgent(SIGTERM);
  WriteConfig(DefaultKubernetes(), "[cni_daemon]\ndaemon_enabled = false\n");
  const std::map<std::string, long> most = {{"STATUS", 460}, {"ADD", 530}, {"DEL", 215}};
  for (const char* command : {"STATUS", "ADD", "DEL"}) {
    const long faults = PageFaults(CallOf(command, pod));
    RecordProperty(std::string(command) + "_page_faults", std::to_string(faults));
    EXPECT_LE(faults, most.at(command)) << command;
  }
}

TEST_F(CallCostTest, ACallByTheAgentAllocatesLittle) {
  const TestPod pod = ActivePod("nginx");
  for (const char* command : {"STATUS", "ADD", "DEL"}) {
    const ProcessResult result = RunProgram(Within("2000000", CallOf(command, pod)));
    EXPECT_EQ(result.status, 0) << command << result.out << result.err;
  }
}

}  // namespace
}  // namespace kuryr::test
