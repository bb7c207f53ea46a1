#include "binding/ovs/open_vswitch.h"

#include <gmock/gmock.h>

#include <csignal>
#include <functional>
#include <thread>

#include "binding/netlink/route_socket.h"
#include "tests/binding/ovs/as_drivers.h"
#include "tests/binding/pod_attachment.h"
#include "tests/ovsdb/code_of.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr::binding {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// For ovsdb-server to answer on a busy machine, when ovs-vswitchd does not.
constexpr auto kLongEnoughToAsk = 2s;

class OpenVSwitchTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    ovs_.emplace("/run");
    switch_.emplace(ovs_->remote());
  }
  void TearDown() override {
    ovs_.reset();
    NetnsTest::TearDown();
  }

  static OvsPort Port(const std::string& name, const std::string& bridge = "br-int") {
    return {.name = name,
            .bridge = bridge,
            .external_ids = {{"attached-mac", "fa:16:3e:00:00:01"},
                             {"iface-id", "neutron-" + name},
                             {"iface-status", "active"},
                             {"kuryr-container-id", "c0ffee"},
                             {"kuryr-network", "kuryr"},
                             {"vm-uuid", "pod-uid"}},
            .datapath_type = test::PrivateOvs::datapath_type()};
  }
  static void MakeDevice(const std::string& name) {
    RouteSocket().CreateVeth(
        {.name = name, .peer_name = name + "-peer", .peer_netns_fd = Netns::Current().fd()});
  }
  AddedPort Add(const OvsPort& port) {
    auto result = switch_->AddPort(port, Soon(), AsDrivers(port));
    if (const auto* taken = std::get_if<TakenPort>(&result)) {
      ADD_FAILURE() << taken->owner;
      return {};
    }
    return std::get<AddedPort>(result);
  }
  std::string Owner(const OvsPort& port) {
    auto result = switch_->AddPort(port, Soon(), AsDrivers(port));
    const auto* taken = std::get_if<TakenPort>(&result);
    return taken != nullptr ? taken->owner : "";
  }
  /// Everything but what changes with each transaction.
  std::string Configuration() {
    return ovs_->Vsctl(
               {"--no-wait", "--columns=_uuid,name,ports,datapath_type", "list", "Bridge"}) +
           ovs_->Vsctl({"--no-wait", "--columns=_uuid,name,interfaces", "list", "Port"}) +
           ovs_->Vsctl({"--no-wait", "--columns=_uuid,name,external_ids", "list", "Interface"});
  }

  std::optional<test::PrivateOvs> ovs_;
  std::optional<OpenVSwitch> switch_;
};

TEST_F(OpenVSwitchTest, PortCarriesItsIdsAndIsTransient) {
  ovs_->Vsctl({"--no-wait", "add-br", "br-int"});

  Add(Port("tap0"));

  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "list-ports", "br-int"}), "tap0");
  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "get", "Interface", "tap0", "external_ids"}),
            R"({attached-mac="fa:16:3e:00:00:01", iface-id=neutron-tap0, iface-status=active, )"
            R"(kuryr-container-id=c0ffee, kuryr-network=kuryr, vm-uuid=pod-uid})");
  // ovs-ctl start --delete-transient-ports looks for this.
  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "--bare", "--columns=name", "find", "Port",
                         "other_config:transient=true"}),
            "tap0");
}

TEST_F(OpenVSwitchTest, PortThatIsNotTransientHasNoMark) {
  ovs_->Vsctl({"--no-wait", "add-br", "br-int"});
  OvsPort port = Port("tap0");
  port.transient = false;

  Add(port);

  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "get", "Port", "tap0", "other_config"}), "{}");
}

TEST_F(OpenVSwitchTest, MissingBridgeIsCreated) {
  MakeDevice("tap0");

  const AddedPort added = Add(Port("tap0"));
  switch_->WaitUntilUp(Port("tap0"), added, Soon());

  ASSERT_TRUE(added.created_bridge.has_value());
  EXPECT_EQ(ovs_->Vsctl({"get", "Bridge", "br-int", "datapath_type"}),
            test::PrivateOvs::datapath_type());
  EXPECT_EQ(ovs_->Vsctl({"get", "Interface", "br-int", "type"}), "internal");
  EXPECT_TRUE(RouteSocket().FindLink("br-int").has_value());
}

TEST_F(OpenVSwitchTest, ExistingBridgeKeepsItsPortsAndDatapathType) {
  ovs_->Vsctl({"add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev"});
  ovs_->Vsctl({"--no-wait", "add-port", "br-int", "other"});
  OvsPort port = Port("tap0");
  port.datapath_type = "system";

  const AddedPort added = Add(port);

  EXPECT_FALSE(added.created_bridge.has_value());
  EXPECT_EQ(ovs_->Vsctl({"get", "Bridge", "br-int", "datapath_type"}), "netdev");
  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "list-ports", "br-int"}), "other\ntap0");
}

TEST_F(OpenVSwitchTest, AddersInParallelLoseNothing) {
  constexpr int kThreads = 8;
  constexpr int kPorts = 10;
  {
    std::vector<std::jthread> adders;
    adders.reserve(kThreads);
    for (int thread = 0; thread < kThreads; ++thread) {
      adders.emplace_back([this, thread] {
        OpenVSwitch own(ovs_->remote());
        for (int i = 0; i < kPorts; ++i) {
          const OvsPort port = Port("t" + std::to_string(thread) + "-" + std::to_string(i));
          EXPECT_TRUE(std::holds_alternative<AddedPort>(own.AddPort(port, Soon())));
        }
      });
    }
  }

  const std::string ports = ovs_->Vsctl({"--no-wait", "list-ports", "br-int"});
  EXPECT_EQ(std::count(ports.begin(), ports.end(), '\n') + 1, kThreads * kPorts);
  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "list-br"}), "br-int");
}

TEST_F(OpenVSwitchTest, ReturnsWhenThePortHasANumber) {
  MakeDevice("tap0");

  const AddedPort added = Add(Port("tap0"));
  switch_->WaitUntilUp(Port("tap0"), added, Soon());

  EXPECT_GE(std::stoi(ovs_->Vsctl({"--no-wait", "get", "Interface", "tap0", "ofport"})), 1);
}

TEST_F(OpenVSwitchTest, PortOfSomebodyElseIsRefusedAndNothingChanges) {
  ovs_->Vsctl({"--no-wait", "add-br", "br-ext", "--", "add-port", "br-ext", "tap0", "--", "set",
               "Interface", "tap0", "external_ids:iface-id=foreign",
               "external_ids:vm-uuid=other-pod"});
  ovs_->Vsctl({"--no-wait", "add-br", "br-int"});
  const std::string before = Configuration();

  EXPECT_THAT(Owner(Port("tap0")),
              AllOf(HasSubstr("tap0 on bridge br-ext"), HasSubstr("iface-id=foreign"),
                    HasSubstr("vm-uuid=other-pod")));

  EXPECT_EQ(Configuration(), before);
}

TEST_F(OpenVSwitchTest, RefusedPortDoesNotEvenCreateABridge) {
  ovs_->Vsctl({"--no-wait", "add-br", "br-ext", "--", "add-port", "br-ext", "tap0"});
  const std::string before = Configuration();

  EXPECT_THAT(Owner(Port("tap0", "br-new")), HasSubstr("tap0 on bridge br-ext"));

  EXPECT_EQ(Configuration(), before);
}

TEST_F(OpenVSwitchTest, PortThatIsNoSystemInterfaceIsRefusedWhateverItsIdsSay) {
  ovs_->Vsctl({"--no-wait", "add-br", "br-int", "--", "add-port", "br-int", "vhu0", "--", "set",
               "Interface", "vhu0", "type=dpdkvhostuserclient",
               "external_ids:iface-id=neutron-vhu0"});

  EXPECT_THAT(Owner(Port("vhu0")), HasSubstr("iface-id=neutron-vhu0"));
}

TEST_F(OpenVSwitchTest, NameOfABridgeIsRefusedAsAPort) {
  ovs_->Vsctl({"--no-wait", "add-br", "br-int"});

  EXPECT_THAT(Owner(Port("br-int")), HasSubstr("port br-int on bridge br-int"));
}

TEST_F(OpenVSwitchTest, NameOfAPortIsRefusedAsABridge) {
  ovs_->Vsctl({"--no-wait", "add-br", "br-int", "--", "add-port", "br-int", "tap0"});
  const std::string before = Configuration();

  std::string what;
  EXPECT_EQ(CodeOf([&] { (void)switch_->AddPort(Port("tap1", "tap0"), Soon()); }, &what),
            std::errc::io_error);

  EXPECT_THAT(what, HasSubstr("tap0"));
  EXPECT_EQ(Configuration(), before);
}

TEST_F(OpenVSwitchTest, OwnLeftoverIsReplacedWhereverItIs) {
  ovs_->Vsctl({"add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev"});
  ovs_->Vsctl({"add-br", "br-old", "--", "set", "Bridge", "br-old", "datapath_type=netdev"});
  MakeDevice("tap0");
  const OvsPort leftover = Port("tap0", "br-old");
  switch_->WaitUntilUp(leftover, Add(leftover), Soon());
  OvsPort port = Port("tap0");
  port.external_ids["iface-id"] = "another-neutron-port";

  switch_->WaitUntilUp(port, Add(port), Soon());

  EXPECT_EQ(ovs_->Vsctl({"list-ports", "br-old"}), "");
  EXPECT_EQ(ovs_->Vsctl({"list-ports", "br-int"}), "tap0");
  EXPECT_EQ(ovs_->Vsctl({"get", "Interface", "tap0", "external_ids:iface-id"}),
            "another-neutron-port");
}

TEST_F(OpenVSwitchTest, PortOfTheSameNeutronPortIsReplaced) {
  Add(Port("tap0"));
  OvsPort port = Port("tap0");
  port.external_ids["kuryr-container-id"] = "decade";

  Add(port);

  EXPECT_EQ(
      ovs_->Vsctl({"--no-wait", "get", "Interface", "tap0", "external_ids:kuryr-container-id"}),
      "decade");
}

TEST_F(OpenVSwitchTest, PortWithATypeIsReplacedOnlyByItsOwnPod) {
  OvsPort port = Port("vhu0");
  port.type = "dpdkvhostuserclient";
  Add(port);
  OvsPort other = port;
  other.external_ids["kuryr-container-id"] = "decade";
  other.external_ids["vm-uuid"] = "other-uid";
  const std::string before = Configuration();

  EXPECT_THAT(Owner(other),
              AllOf(HasSubstr("kuryr-container-id=c0ffee"), HasSubstr("vm-uuid=pod-uid")));
  other.external_ids["vm-uuid"] = "";
  EXPECT_THAT(Owner(other), HasSubstr("vm-uuid=pod-uid"));
  other = port;
  other.external_ids["kuryr-network"] = "storage";
  EXPECT_THAT(Owner(other), HasSubstr("kuryr-network=kuryr")) << "the pod's second attachment";
  EXPECT_EQ(Configuration(), before);

  Add(port);
  other = port;
  other.external_ids["kuryr-container-id"] = "decade";
  Add(other);
  EXPECT_EQ(
      ovs_->Vsctl({"--no-wait", "get", "Interface", "vhu0", "external_ids:kuryr-container-id"}),
      "decade");
}

TEST_F(OpenVSwitchTest, PortOfAVirtualMachineIsRefusedWhateverItsUuid) {
  ovs_->Vsctl({"--no-wait", "add-br", "br-int", "--", "add-port", "br-int", "vhu0", "--", "set",
               "Interface", "vhu0", "type=dpdkvhostuserclient", "external_ids:vm-uuid=pod-uid",
               "external_ids:iface-id=neutron-vhu0"});
  OvsPort port = Port("vhu0");
  port.type = "dpdkvhostuserclient";

  EXPECT_THAT(Owner(port), HasSubstr("iface-id=neutron-vhu0"));
}

TEST_F(OpenVSwitchTest, MissingDeviceFailsWithTheWordsOfOvs) {
  const AddedPort added = Add(Port("tap0"));

  std::string what;
  EXPECT_EQ(CodeOf([&] { switch_->WaitUntilUp(Port("tap0"), added, Soon()); }, &what),
            std::errc::io_error);

  EXPECT_THAT(what, HasSubstr("could not open network device tap0 (No such device)"));
}

TEST_F(OpenVSwitchTest, BridgeThatCannotBeMadeFailsAtOnceAndSaysWhatIsPossible) {
  MakeDevice("tap0");
  OvsPort port = Port("tap0");
  port.datapath_type = "nonsense";
  const AddedPort added = Add(port);

  std::string what;
  EXPECT_EQ(CodeOf([&] { switch_->WaitUntilUp(port, added, Soon()); }, &what), std::errc::io_error);

  EXPECT_THAT(what, AllOf(HasSubstr("br-int"), HasSubstr("nonsense"), HasSubstr("netdev")));
}

TEST_F(OpenVSwitchTest, NewBridgeNamedLikeALinkFailsWithTheWordsOfOvs) {
  MakeDevice("eth9");
  MakeDevice("tap0");
  const OvsPort port = Port("tap0", "eth9");
  const AddedPort added = Add(port);

  std::string what;
  EXPECT_EQ(CodeOf([&] { switch_->WaitUntilUp(port, added, Soon()); }, &what), std::errc::io_error);

  EXPECT_THAT(what, HasSubstr("network device eth9"));
}

TEST_F(OpenVSwitchTest, WaitForASilentVswitchdEndsAtTheDeadlineAndSaysWhatWasAwaited) {
  MakeDevice("tap0");
  ovs_->StopVswitchd();
  const AddedPort added = Add(Port("tap0"));

  std::string what;
  EXPECT_EQ(
      CodeOf([&] { switch_->WaitUntilUp(Port("tap0"), added, Deadline::After(kLongEnoughToAsk)); },
             &what),
      std::errc::timed_out);

  EXPECT_THAT(what, AllOf(HasSubstr("ovs-vswitchd"), HasSubstr("tap0"), HasSubstr("br-int")));
}

TEST_F(OpenVSwitchTest, WaitSurvivesARestartOfVswitchd) {
  MakeDevice("tap0");
  ovs_->StopVswitchd();
  const AddedPort added = Add(Port("tap0"));
  const std::jthread waiter(
      [&] { EXPECT_NO_THROW(switch_->WaitUntilUp(Port("tap0"), added, Soon())); });

  ovs_->StartVswitchd();
}

TEST_F(OpenVSwitchTest, DeletePortTakesOnlyWhatTheOwnerHas) {
  Add(Port("tap0"));
  Add(Port("tap1"));
  const ExternalIds owner = {{"kuryr-container-id", "c0ffee"}, {"kuryr-network", "kuryr"}};

  EXPECT_FALSE(switch_->DeletePort("tap0", {{"kuryr-container-id", "other"}}, Soon()));
  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "list-ports", "br-int"}), "tap0\ntap1");
  EXPECT_TRUE(switch_->DeletePort("tap0", owner, Soon()));
  EXPECT_FALSE(switch_->DeletePort("tap0", owner, Soon()));

  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "list-ports", "br-int"}), "tap1");
  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "--columns=name", "find", "Interface", "name=tap0"}), "");
}

TEST_F(OpenVSwitchTest, DeletePortTakesTheQosOfAPortThatAnotherRemoved) {
  OvsPort shaped = Port("tap0");
  shaped.qos_type = "linux-noop";
  Add(shaped);
  shaped.name = "tap1";
  Add(shaped);
  ovs_->Vsctl({"--no-wait", "del-port", "tap0"});

  EXPECT_FALSE(switch_->DeletePort("tap0", shaped.external_ids, Soon()));

  EXPECT_THAT(ovs_->Vsctl({"--no-wait", "--columns=external_ids", "list", "QoS"}),
              AllOf(HasSubstr("kuryr-port=tap1"), Not(HasSubstr("tap0"))));
}

TEST_F(OpenVSwitchTest, DeletePortTakesAPortThatComesAfterItsLook) {
  OvsPort late = Port("tap0");
  late.qos_type = "linux-noop";
  const auto add = [&](const PortState* there) {
    EXPECT_EQ(there, nullptr);
    Add(late);
  };

  EXPECT_TRUE(switch_->DeletePort("tap0", late.external_ids, Soon(), add));

  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "list-ports", "br-int"}), "");
  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "list", "QoS"}), "");
}

TEST_F(OpenVSwitchTest, IsServedAsLongAsVswitchdAnswers) {
  EXPECT_TRUE(switch_->IsServed(Soon()));
  ovs_->vswitchd().Signal(SIGSTOP);
  EXPECT_FALSE(switch_->IsServed(Deadline::After(kLongEnoughToAsk)));
  ovs_->vswitchd().Signal(SIGCONT);
  EXPECT_TRUE(switch_->IsServed(Soon()));
  ovs_->StopVswitchd();
  EXPECT_FALSE(switch_->IsServed(Deadline::After(kLongEnoughToAsk)));
}

TEST_F(OpenVSwitchTest, ABridgeThatVswitchdCouldNotMakeIsAProblem) {
  EXPECT_EQ(switch_->FindBridgeProblem("br-int", Soon()),
            "bridge br-int of Open vSwitch is missing");
  ovs_->Vsctl({"add-br", "br-int", "--", "set", "Bridge", "br-int",
               "datapath_type=" + test::PrivateOvs::datapath_type()});
  EXPECT_EQ(switch_->FindBridgeProblem("br-int", Soon()), std::nullopt);

  // ovs-vswitchd finds such a name suspicious.
  ovs_->Vsctl({"--no-wait", "add-br", "br\\x"});
  ovs_->Vsctl(
      {"--no-wait", "add-br", "br-odd", "--", "set", "Bridge", "br-odd", "datapath_type=odd"});
  EXPECT_TRUE(switch_->IsServed(Soon()));

  EXPECT_THAT(switch_->FindBridgeProblem("br\\x", Soon()).value_or(""),
              HasSubstr("ovs-vswitchd did not make bridge br\\x: its log says why"));
  EXPECT_THAT(switch_->FindBridgeProblem("br-odd", Soon()).value_or(""),
              HasSubstr("did not make bridge br-odd, whose datapath_type is odd"));
}

TEST_F(OpenVSwitchTest, PortIsLetGoOfWhenVswitchdHasAppliedItsRemoval) {
  MakeDevice("tap0");
  switch_->WaitUntilUp(Port("tap0"), Add(Port("tap0")), Soon());
  ovs_->vswitchd().Signal(SIGSTOP);
  switch_->DeletePort("tap0", {}, Soon());

  std::string what;
  EXPECT_EQ(
      CodeOf([&] { switch_->WaitUntilLetGo("tap0", Deadline::After(kLongEnoughToAsk)); }, &what),
      std::errc::timed_out);
  EXPECT_THAT(what, HasSubstr("wait for ovs-vswitchd to apply"));
  ovs_->vswitchd().Signal(SIGCONT);
  EXPECT_NO_THROW(switch_->WaitUntilLetGo("tap0", Soon()));
}

TEST_F(OpenVSwitchTest, NobodyWaitsForWhatItsProcessDoesToOtherPorts) {
  OwnChanges changes;
  OpenVSwitch own(ovs_->remote(), nullptr, {}, &changes);
  Add(Port("tap0"));
  switch_->WaitUntilApplied(Soon());
  ovs_->vswitchd().Signal(SIGSTOP);
  const auto wait_briefly = [&](const char* port) {
    return CodeOf([&] { own.WaitUntilLetGo(port, Deadline::After(30ms)); });
  };

  own.DeletePort("tap0", {}, Soon());
  (void)own.AddPort(Port("tap1"), Soon());
  EXPECT_NO_THROW(own.WaitUntilLetGo("tap2", Soon()));
  EXPECT_EQ(wait_briefly("tap0"), std::errc::timed_out);

  switch_->DeletePort("tap1", {}, Soon());
  EXPECT_EQ(wait_briefly("tap2"), std::errc::timed_out) << "another process has removed something";
}

TEST_F(OpenVSwitchTest, CreatedBridgeGoesOnlyWhenEmpty) {
  const AddedPort added = Add(Port("tap0"));
  ASSERT_TRUE(added.created_bridge.has_value());
  Add(Port("tap1"));

  (void)switch_->DeletePort("tap0", {}, Soon());
  switch_->DeleteEmptyBridge(*added.created_bridge, Soon());
  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "list-ports", "br-int"}), "tap1");
  (void)switch_->DeletePort("tap1", {}, Soon());
  switch_->DeleteEmptyBridge(*added.created_bridge, Soon());
  switch_->DeleteEmptyBridge(*added.created_bridge, Soon());

  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "list-br"}), "");
}

TEST_F(OpenVSwitchTest, FindPortsGivesTheOwnersPortsWithTheirBridges) {
  Add(Port("tap0"));
  Add(Port("tap1", "br-ext"));
  OvsPort foreign = Port("tap2");
  foreign.external_ids["kuryr-container-id"] = "other";
  Add(foreign);

  auto ports =
      switch_->FindPorts({{"kuryr-container-id", "c0ffee"}, {"kuryr-network", "kuryr"}}, Soon());

  std::sort(ports.begin(), ports.end(),
            [](const OvsPort& a, const OvsPort& b) { return a.name < b.name; });
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_EQ(ports[0].name, "tap0");
  EXPECT_EQ(ports[0].bridge, "br-int");
  EXPECT_EQ(ports[1].name, "tap1");
  EXPECT_EQ(ports[1].bridge, "br-ext");
  EXPECT_EQ(ports[1].external_ids.at("iface-id"), "neutron-tap1");
}

}  // namespace
}  // namespace kuryr::binding
