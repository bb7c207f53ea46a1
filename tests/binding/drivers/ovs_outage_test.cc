// ovsdb-server is restarted: Connect waits for it, and nothing else does.
#include <chrono>
#include <csignal>
#include <future>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "binding/drivers/binding.h"
#include "binding/ovs/open_vswitch.h"
#include "tests/binding/differences.h"
#include "tests/binding/drivers/ovs_driver_fixture.h"
#include "tests/ovsdb/code_of.h"

namespace kuryr::binding {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

class OvsOutageTest : public OvsDriverTest {
 protected:
  void SetUp() override {
    OvsDriverTest::SetUp();
    MakeBridge();
    WaitFor(1h);
  }
  void WaitFor(std::chrono::seconds time) {
    BindingConfig config = Config();
    config.ovsdb_wait = time;
    driver_ = NewOvsDriver({config, shared_});
  }
  std::future<void> StartToConnect() {
    return std::async(std::launch::async, [this, host = Netns::Current()] {
      const NetnsGuard guard(host);
      ConnectPod(1, *pod_);
    });
  }
  std::optional<std::string> Check() {
    const vif::VifOpenVSwitch vif = test::OvsVif(1);
    return FirstOf(
        driver_->Check({driver_->Plan({"eth0", true, vif}), PodAttachment(1), *pod_, Soon()}));
  }
  void ExpectConnects(std::future<void> connecting) {
    EXPECT_NO_THROW(connecting.get());
    EXPECT_EQ(Check(), std::nullopt);
    const std::string ports = Vsctl({"list-ports", "br-int"});
    EXPECT_EQ(ports, *test::OvsVif(1).vif_name) << "once";
  }
};

TEST_F(OvsOutageTest, ConnectWaitsForAServerThatIsBeingRestarted) {
  ovs_->StopServer();
  auto connecting = StartToConnect();
  EXPECT_EQ(connecting.wait_for(100ms), std::future_status::timeout);

  ovs_->StartServer();

  ExpectConnects(std::move(connecting));
}

TEST_F(OvsOutageTest, ConnectGoesOnAfterAServerThatWasKilledUnderIt) {
  ovs_->vswitchd().Signal(SIGSTOP);
  auto connecting = StartToConnect();
  Vsctl({"wait-until", "Interface", *test::OvsVif(1).vif_name});

  ovs_->server().Signal(SIGKILL);
  ovs_->StartServer();
  ovs_->vswitchd().Signal(SIGCONT);

  ExpectConnects(std::move(connecting));
}

TEST_F(OvsOutageTest, AServerThatStaysAwayIsNamedAndNothingIsTouched) {
  WaitFor(1s);
  const std::string before = State();
  ovs_->StopServer();

  std::string what;
  EXPECT_EQ(CodeOf([&] { ConnectPod(1, *pod_); }, &what), std::errc::timed_out);

  EXPECT_THAT(what, AllOf(HasSubstr("Open vSwitch is down, or being restarted: waited 1 s"),
                          HasSubstr(ovs_->remote())));
  ovs_->StartServer();
  EXPECT_EQ(State(), before);
}

TEST_F(OvsOutageTest, NothingElseWaits) {
  ConnectPod(1, *pod_);
  ovs_->StopServer();
  const auto missing = std::errc::no_such_file_or_directory;

  EXPECT_EQ(CodeOf([&] { (void)Check(); }), missing);
  EXPECT_EQ(CodeOf([&] { DisconnectPod(1); }), missing);
  const Binding binding(Config());
  EXPECT_EQ(CodeOf([&] { (void)binding.FindOvsPlugs(Soon()); }), missing);
  EXPECT_THAT(binding.FindOvsProblem("br-int", Soon()).value_or(""),
              HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace kuryr::binding
