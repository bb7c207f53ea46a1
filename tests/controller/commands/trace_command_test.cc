#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/controller/commands/commands_fixture.h"

// kuryr-controller trace. tests/kubernetes/cluster traces packets of a real OVN.

namespace kuryr::test {
namespace {

using ::testing::HasSubstr;

class TraceCommandTest : public CommandsTest {
 protected:
  [[nodiscard]] ProcessResult Trace(const std::vector<std::string>& arguments) const {
    return RunCommand("trace", arguments, conf_);
  }
};

TEST_F(TraceCommandTest, NamesABackendWithoutLogicalPorts) {
  const ProcessResult result = Trace({"default/web", "default/db"});

  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("backend local has no logical ports; trace is for [controller] "
                                    "backend = ovn"));
}

TEST_F(TraceCommandTest, NamesAPodWithoutAPlan) {
  Configure("vif = ovs\nmtu = 1400\ngateway = none\n[controller]\nbackend = ovn\n");
  cluster_.CreatePod("web");

  EXPECT_THAT(Trace({"default/web", "default/db"}).err,
              HasSubstr("pod default/web has no plan, so it has no logical port"));
  EXPECT_THAT(Trace({"default/no", "default/db"}).err, HasSubstr("there is no pod default/no"));
}

TEST_F(TraceCommandTest, NamesAPortThatIsNone) {
  EXPECT_THAT(Trace({"default/web", "default/db", "80"}).err,
              HasSubstr("\"80\" is no port; expected tcp/80, udp/53 or sctp/9"));
}

}  // namespace
}  // namespace kuryr::test
