// A plan is taken away while its pod runs: by a namespace's end, a backup, an operator.
#include <gmock/gmock.h>

#include "controller/owners/lost_plan.h"
#include "tests/controller/leading_fixture.h"

namespace kuryr::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kTwoOfASmallPool =
    "[pool:small]\ncidr = 10.9.0.0/29\nranges = 10.9.0.2-10.9.0.3\nnamespaces = *\nrest = 0\n";

class LostPlanTest : public LeadingTest {
 protected:
  void SetUp() override {
    LeadingTest::SetUp();
    Pools(kTwoOfASmallPool);
  }
  /// Makes a pod that runs by its KuryrPort; returns its address.
  std::string Run(const std::string& name, const json& metadata = {}) {
    cluster_.CreatePod(name, {}, metadata);
    std::string address = AddressOn(WaitForPort(name));
    TellRunning(name, address);
    return address;
  }
  /// Says so as the kubelet does.
  void TellRunning(const std::string& name, const std::string& address) {
    SetStatus(name,
              {{"phase", "Running"},
               {"podIP", address},
               {"podIPs", {{{"ip", address}}}},
               {"containerStatuses", {{{"name", "c"}, {"state", {{"running", json::object()}}}}}}});
  }
  void End(const std::string& name) {
    SetStatus(name, {{"containerStatuses",
                      {{{"name", "c"}, {"state", {{"terminated", {{"exitCode", 0}}}}}}}}});
    api().Delete("pods", "default", name);
  }
  /// Takes the KuryrPort away as an administrator does.
  void TakePortAway(const std::string& name) {
    api().Delete("kuryrports", "default", name);
    api().Patch("kuryrports", "default", name, {{"metadata", {{"finalizers", nullptr}}}});
    ASSERT_TRUE(cluster_.WaitUntilGone("KuryrPort", name));
  }
  void StopAndForget() {
    Stop();
    informer_.reset();
  }
};

TEST_F(LostPlanTest, KuryrPortThatIsDeletedStaysUntilItsPodHasEnded) {
  Start(SinkKind::kKuryrPort);
  const std::string address = Run("a");

  api().Delete("kuryrports", "default", "a");
  cluster_.CreatePod("b");
  const json port = cluster_.WaitFor("KuryrPort", "a", [](const json& object) {
    return object.is_object() && object.at("metadata").contains("deletionTimestamp");
  });

  EXPECT_EQ(AddressOn(port), address);
  EXPECT_NE(AddressOn(WaitForPort("b")), address);
  End("a");
  EXPECT_TRUE(cluster_.WaitUntilGone("KuryrPort", "a"));
  EXPECT_TRUE(cluster_.WaitUntilGone("Pod", "a"));
}

TEST_F(LostPlanTest, PodThatRunsGetsItsAddressAgain) {
  Start(SinkKind::kKuryrPort);
  const std::string address = Run("a");
  const json before = WaitForPort("a");

  TakePortAway("a");

  const json after = WaitForPort("a");
  EXPECT_EQ(AddressOn(after), address);
  EXPECT_EQ(after.at("status"), before.at("status"));
  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrPlanRestored"), HasSubstr(address));
}

TEST_F(LostPlanTest, PodThatRunsGetsItsAddressAgainFromTheNextLeader) {
  Start(SinkKind::kKuryrPort);
  const std::string address = Run("a");
  StopAndForget();
  TakePortAway("a");

  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("b");
  EXPECT_NE(AddressOn(WaitForPort("b")), address);
  cluster_.CreatePod("c");

  EXPECT_EQ(AddressOn(WaitForPort("a")), address);
  EXPECT_THAT(cluster_.WaitForEvent("c", "KuryrNoFreeAddress"), HasSubstr("small"));
}

/// The API server answers 403 when an object is created in a namespace that ends.
TEST_F(LostPlanTest, AddressOfAPodThatStillEndsIsNobodyElses) {
  Start(SinkKind::kKuryrPort);
  const std::string address = Run("a");
  fake::Fault refusal = fake::Fault::Status(403, "the namespace is being terminated");
  refusal.verb = "create";
  refusal.path_prefix = "/apis/openstack.org/v1/namespaces/default/kuryrports";
  refusal.count = -1;
  api().Inject(refusal);
  TakePortAway("a");
  (void)cluster_.WaitForEvent("a", "KuryrPlanNotWritten");

  api().Delete("pods", "default", "a", 600);
  (void)cluster_.WaitFor("Pod", "a", [](const json& pod) {
    return pod.is_object() && pod.at("metadata").contains("deletionTimestamp");
  });
  api().ClearFaults();
  cluster_.CreatePod("b");
  const std::string other = AddressOn(WaitForPort("b"));
  cluster_.CreatePod("c");

  EXPECT_NE(other, address);
  EXPECT_THAT(cluster_.WaitForEvent("c", "KuryrNoFreeAddress"), HasSubstr("small"));
  StopAndForget();
  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("d");
  EXPECT_THAT(cluster_.WaitForEvent("d", "KuryrNoFreeAddress"), HasSubstr("small"));
  api().Delete("pods", "default", "d");
  End("a");
  EXPECT_TRUE(cluster_.WaitUntilGone("Pod", "a"));
  (void)cluster_.WaitFor("KuryrPort", "c", [&](const json& port) {
    return HasVifs(port) && AddressOn(port) == address;
  });
}

TEST_F(LostPlanTest, AddressThatAnotherHasIsAConflictThatIsTold) {
  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("b");
  const std::string address = AddressOn(WaitForPort("b"));
  (void)Run("a");
  StopAndForget();
  TakePortAway("a");
  TellRunning("a", address);

  Start(SinkKind::kKuryrPort);

  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrAddressConflict"),
              AllOf(HasSubstr(address), HasSubstr("delete the pod")));
  EXPECT_EQ(AddressOn(WaitForPort("b")), address);
}

TEST_F(LostPlanTest, OtherInterfacesAreAskedForAsTheNodeTold) {
  controller::PlanRequest request{.interfaces = {{.ifname = "eth0", .is_default = true},
                                                 {.ifname = "net1", .network = "blue"}}};
  controller::PodFacts pod{.addresses_there = {IpAddress::Parse("10.9.0.2").value()}};
  const json object = {{"metadata",
                        {{"annotations",
                          {{controller::kNetworkStatusAnnotation,
                            R"([{"name": "kuryr", "interface": "eth0", "ips": ["192.0.2.1"]},
               {"interface": "net1", "ips": ["10.1.0.7", 4], "mac": "0a:58:0a:01:00:07"},
               {"interface": "net9", "ips": ["10.1.0.8"]}, 7])"}}}}}};

  controller::AskForTheSame(pod, object, request);

  EXPECT_EQ(request.interfaces[0].addresses, pod.addresses_there) << "a user writes the annotation";
  EXPECT_THAT(request.interfaces[1].addresses,
              ::testing::ElementsAre(IpAddress::Parse("10.1.0.7").value()));
  EXPECT_EQ(request.interfaces[1].mac->ToString(), "0a:58:0a:01:00:07");
}

TEST_F(LostPlanTest, StatusOfInterfacesThatCannotBeReadIsNone) {
  for (const char* text : {"", "{", "{}", "[[]]", R"([{"interface": "net1", "ips": {}}])"}) {
    controller::PlanRequest request{.interfaces = {{.ifname = "eth0"}, {.ifname = "net1"}}};
    const json object = {
        {"metadata", {{"annotations", {{controller::kNetworkStatusAnnotation, text}}}}}};

    controller::AskForTheSame({}, object, request);

    EXPECT_THAT(request.interfaces[1].addresses, IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace kuryr::test
