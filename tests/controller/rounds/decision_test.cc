#include "controller/rounds/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "controller/owners/plan_verdict.h"

namespace kuryr::controller {

// What a failed row prints: the act's and the fact's number.
void PrintTo(const Act& act, std::ostream* out) { *out << "Act " << static_cast<int>(act); }
void PrintTo(const Fact& fact, std::ostream* out) { *out << "Fact " << static_cast<int>(fact); }

namespace {

using ::testing::HasSubstr;

IpAddress At(const std::string& address) { return IpAddress::Parse(address).value(); }

PlanState PlanWith(const std::vector<std::string>& ifnames) {
  std::vector<vif::PodVif> vifs;
  for (const std::string& ifname : ifnames) {
    vif::Subnet subnet;
    subnet.ips =
        vif::FixedIpList{.objects = std::vector<vif::FixedIp>{{.address = At("10.0.0.1")}}};
    vif::VifOpenVSwitch vif;
    vif.active = true;
    vif.network = vif::Network();
    vif.network->subnets = vif::SubnetList{.objects = std::vector<vif::Subnet>{subnet}};
    vifs.push_back({.ifname = ifname, .is_default = ifname == "eth0", .vif = vif});
  }
  PlanState state = Read({.vifs = vifs});
  state.ours = true;
  return state;
}

/// A pod with an active plan, which stands in the annotation, where this controller writes.
struct Given {
  Given() {
    pod.name_space = "default";
    pod.name = "a";
    pod.node = "node1";
    pod.uid = "uid-a";
    pod.has_finalizer = true;
    pod.plan = PlanWith({"eth0"});
    pod.created = std::chrono::sys_seconds(std::chrono::seconds(100));
    outlook.stands_here = true;
    outlook.rivals.emplace();
  }

  [[nodiscard]] KnownPod known() const {
    return {.pod = std::make_shared<PodFacts>(pod),
            .port = port ? std::make_shared<PortFacts>(*port) : nullptr,
            .others_problem = others_problem};
  }
  /// Another producer plans the pod by a KuryrPort.
  Given& Others() {
    pod.plan = {};
    pod.has_finalizer = false;
    port = {.pod_uid = pod.uid};
    return *this;
  }
  /// A pod with the same address, older by as much as `age`.
  Given& Against(int age, bool started = false) {
    Given other;
    other.pod.uid = "uid-b";
    other.pod.created -= std::chrono::seconds(age);
    other.pod.started = started;
    outlook.rivals->push_back({.known = other.known(), .stands_here = true});
    return *this;
  }
  /// A younger pod with the same address, with a change.
  Given& AgainstYounger(const std::function<void(PodFacts&)>& change) {
    Against(-1);
    PodFacts other = *outlook.rivals->back().known.pod;
    change(other);
    outlook.rivals->back().known.pod = std::make_shared<PodFacts>(other);
    return *this;
  }
  Given& Asks(const std::vector<std::string>& ifnames, const std::string& address = "") {
    outlook.request.emplace();
    for (const std::string& ifname : ifnames) {
      outlook.request->interfaces.push_back({.ifname = ifname});
      if (!address.empty()) outlook.request->interfaces.back().addresses = {At(address)};
    }
    return *this;
  }
  /// A running pod that once had an address beside its plan.
  Given& Formerly(const std::string& address) {
    pod.started = true;
    pod.plan.former = {At(address)};
    return *this;
  }

  PodFacts pod;
  std::optional<PortFacts> port;
  std::string others_problem;
  PodOutlook outlook;
};

struct Row {
  const char* name;
  std::function<void(Given&)> change;
  Act act;
  Fact missing = Fact::kNone;
  const char* problem = "";  ///< a part of it
};

std::string NameOfRow(const ::testing::TestParamInfo<Row>& row) { return row.param.name; }

void Expect(const Decision& decision, const Row& row) {
  EXPECT_EQ(decision.act, row.act);
  EXPECT_EQ(decision.missing, row.missing);
  EXPECT_THAT(decision.problem, HasSubstr(row.problem));
  EXPECT_EQ(decision.problem.empty(), *row.problem == '\0') << decision.problem;
}

class DecideTest : public ::testing::TestWithParam<Row> {};

TEST_P(DecideTest, ActIsTheOneOfTheRow) {
  Given given;
  GetParam().change(given);
  Expect(Decide(given.known(), given.outlook), GetParam());
}

void Bare(Given& given) {
  given.pod.plan = {};
  given.pod.has_finalizer = false;
}
/// A pod that runs by a plan of this controller that is gone.
void Bereft(Given& given) {
  given.pod.plan = {};
  given.pod.started = true;
  given.pod.addresses_there = {At("10.0.0.1")};
}
/// A pod whose deletion was forced, while a container runs.
void Forced(Given& given) { given.pod.deleted = given.pod.expired = given.pod.running = true; }

const Row kEnds[] = {
    {"HostNetwork", [](Given& g) { Bare(g), g.pod.host_network = true; }, Act::kNone},
    {"NoNode", [](Given& g) { Bare(g), g.pod.node.clear(); }, Act::kNone},
    {"NoNodeButFinalizer", [](Given& g) { g.pod.plan = {}, g.pod.node.clear(); }, Act::kAwaitEnd},
    {"OthersIsDone", [](Given& g) { g.Others().pod.completed = true; }, Act::kLeave},
    {"Done", [](Given& g) { g.pod.completed = true; }, Act::kRelease},
    {"DoneByFinalizer", [](Given& g) { g.pod.plan = {}, g.pod.completed = true; }, Act::kRelease},
    {"InItsGracePeriod", [](Given& g) { g.pod.deleted = true; }, Act::kAwaitEnd},
    {"Expired", [](Given& g) { g.pod.deleted = g.pod.expired = true; }, Act::kRelease},
    {"Forced", Forced, Act::kAwaitEnd, Fact::kNode},
    {"ForcedWithNode", [](Given& g) { Forced(g), g.outlook.node_gone = false; }, Act::kAwaitEnd},
    {"ForcedWithoutNode", [](Given& g) { Forced(g), g.outlook.node_gone = true; }, Act::kRelease},
};
INSTANTIATE_TEST_SUITE_P(End, DecideTest, ::testing::ValuesIn(kEnds), NameOfRow);

const Row kFirsts[] = {
    {"NoPlan", Bare, Act::kPlan},
    {"LostPlan", Bereft, Act::kRestore},
    {"LostByAnother", [](Given& g) { Bereft(g), g.pod.has_finalizer = false; }, Act::kPlan},
    {"LostBeforeItRan", [](Given& g) { Bereft(g), g.pod.started = false; }, Act::kPlan},
    {"LostWithoutAddress", [](Given& g) { Bereft(g), g.pod.addresses_there.clear(); }, Act::kPlan},
    {"PlanThatDoesNotCount", [](Given& g) { g.pod.plan.ignored = true; }, Act::kPlan},
    {"Forged", [](Given& g) { g.pod.plan.refused = "why"; }, Act::kReplace, Fact::kNone, "why"},
    {"ForgedAndStarted", [](Given& g) { g.pod.plan.refused = "why", g.pod.started = true; },
     Act::kRefuse, Fact::kNone, "why"},
    {"Unreadable",
     [](Given& g) {
       g.pod.plan = {};
       g.port = {.ours = true, .pod_uid = g.pod.uid, .plan = Read({.error = "no JSON"})};
     },
     Act::kReplace, Fact::kNone, "no JSON"},
};
INSTANTIATE_TEST_SUITE_P(First, DecideTest, ::testing::ValuesIn(kFirsts), NameOfRow);

/// A finalizer that may be this controller's, on a pod of another producer.
Given& Held(Given& given) {
  given.Others().pod.has_finalizer = true;
  return given;
}

const Row kOthers[] = {
    {"Port", [](Given& g) { g.Others(); }, Act::kLeave},
    {"Annotation", [](Given& g) { g.pod.plan.ours = false, g.pod.has_finalizer = false; },
     Act::kLeave},
    {"Problem", [](Given& g) { g.Others().others_problem = "taken"; }, Act::kUnusable, Fact::kNone,
     "taken"},
    {"Finalizer", [](Given& g) { Held(g); }, Act::kLeave, Fact::kFinalizer},
    {"OurFinalizer", [](Given& g) { Held(g).outlook.put_finalizer = true; }, Act::kTakeBack},
    {"TheirFinalizer", [](Given& g) { Held(g).outlook.put_finalizer = false; }, Act::kLeave},
    {"FinalizerOfARunningPod", [](Given& g) { Held(g).pod.started = true; }, Act::kLeave},
    {"FinalizerOfADeletedPod", [](Given& g) { Held(g).pod.started = g.pod.deleted = true; },
     Act::kLeave, Fact::kFinalizer},
    {"FinalizerOfOurPlan", [](Given& g) { Held(g).pod.plan = PlanWith({"eth0"}); }, Act::kLeave},
};
INSTANTIATE_TEST_SUITE_P(Others, DecideTest, ::testing::ValuesIn(kOthers), NameOfRow);

const Row kPlans[] = {
    {"RivalsUnknown", [](Given& g) { g.outlook.rivals.reset(); }, Act::kKeep, Fact::kRivals},
    {"Active", [](Given&) {}, Act::kKeep},
    {"Inactive", [](Given& g) { g.pod.plan.active = false; }, Act::kActivate},
    {"Lost", [](Given& g) { g.outlook.loss = "port-1"; }, Act::kLost, Fact::kNone, "port-1"},
    {"LostBeforeItWasActive",
     [](Given& g) { g.pod.plan.active = false, g.outlook.loss = "port-1"; }, Act::kActivate},
    {"FormerAddress",
     [](Given& g) { g.Formerly("10.0.0.9").pod.addresses_there = {At("10.0.0.9")}; },
     Act::kConflict, Fact::kNone, "10.0.0.9"},
    {"FormerAddressThatIsPlannedAgain",
     [](Given& g) { g.Formerly("10.0.0.1").pod.addresses_there = {At("10.0.0.1")}; }, Act::kKeep},
    {"AddressOfNoPlan",
     [](Given& g) { g.Formerly("10.0.0.9").pod.addresses_there = {At("10.0.0.7")}; }, Act::kKeep},
};
INSTANTIATE_TEST_SUITE_P(Planned, DecideTest, ::testing::ValuesIn(kPlans), NameOfRow);

constexpr const char* kBoth = "another pod has this one's, too: 10.0.0.1";
const Row kRivals[] = {
    {"Older", [](Given& g) { g.Against(1); }, Act::kKeep, Fact::kRequest},
    {"OlderAndInactive", [](Given& g) { g.Against(1).pod.plan.active = false; }, Act::kActivate,
     Fact::kRequest},
    {"OlderAndNoWish", [](Given& g) { g.Against(1).Asks({"eth0"}); }, Act::kYield},
    {"OlderAndAWish", [](Given& g) { g.Against(1).Asks({"eth0"}, "10.0.0.1"); }, Act::kConflict,
     Fact::kNone, kBoth},
    {"OlderAndOtherInterfaces", [](Given& g) { g.Against(1).Asks({"eth0", "net1"}); },
     Act::kConflict, Fact::kNone, kBoth},
    {"OlderAndAnotherInterface", [](Given& g) { g.Against(1).Asks({"net1"}); }, Act::kConflict,
     Fact::kNone, kBoth},
    {"OlderAndFewerInterfaces",
     [](Given& g) { g.Against(1).Asks({"eth0"}).pod.plan = PlanWith({"eth0", "net1"}); },
     Act::kConflict, Fact::kNone, kBoth},
    {"OlderAndThePodRuns", [](Given& g) { g.Against(1).pod.started = true; }, Act::kKeep},
    {"BothRun", [](Given& g) { g.Against(1, true).pod.started = true; }, Act::kConflict,
     Fact::kNone, kBoth},
    {"Younger", [](Given& g) { g.Against(-1); }, Act::kKeep},
    {"YoungerAndRuns", [](Given& g) { g.Against(-1, true); }, Act::kKeep, Fact::kRequest},
    {"YoungerAndDone", [](Given& g) { g.AgainstYounger([](PodFacts& p) { p.completed = true; }); },
     Act::kConflict, Fact::kNone, kBoth},
    {"YoungerOfAnotherProducer",
     [](Given& g) { g.AgainstYounger([](PodFacts& p) { p.plan.ours = false; }); }, Act::kConflict,
     Fact::kNone, kBoth},
    {"YoungerWithoutAPlanThatCounts",
     [](Given& g) {
       g.AgainstYounger([](PodFacts& p) { p.plan.ours = false, p.plan.ignored = true; });
     },
     Act::kConflict, Fact::kNone, kBoth},
    {"PlanOfTheRivalStandsElsewhere",
     [](Given& g) { g.Against(1).outlook.rivals->at(0).stands_here = false; }, Act::kConflict,
     Fact::kNone, kBoth},
    {"PlanStandsElsewhere", [](Given& g) { g.Against(1).outlook.stands_here = false; },
     Act::kConflict, Fact::kNone, kBoth},
    {"NoRoomForFormerAddresses",
     [](Given& g) { g.Against(1).pod.plan.former.assign(kMostFormer, At("10.0.0.9")); },
     Act::kConflict, Fact::kNone, kBoth},
    {"NoPod", [](Given& g) { g.outlook.rivals->emplace_back(); }, Act::kConflict, Fact::kNone,
     kBoth},
    {"NamedByTheBackend",
     [](Given& g) { g.outlook.rivals->emplace_back(), g.pod.plan.problem = "is b's"; },
     Act::kConflict, Fact::kNone, "is b's"},
    {"ProblemThatIsOver", [](Given& g) { g.pod.plan.problem = "is b's"; }, Act::kKeep},
    {"BeforeALoss", [](Given& g) { g.outlook.rivals->emplace_back(), g.outlook.loss = "port-1"; },
     Act::kConflict, Fact::kNone, kBoth},
    {"OneYieldsAndOneKeeps", [](Given& g) { g.Against(-1).Against(1).Asks({"eth0"}); },
     Act::kYield},
};
INSTANTIATE_TEST_SUITE_P(Rival, DecideTest, ::testing::ValuesIn(kRivals), NameOfRow);

class DecideInterfacesTest : public ::testing::TestWithParam<Row> {};

TEST_P(DecideInterfacesTest, ActIsTheOneOfTheRow) {
  Given given;
  GetParam().change(given);
  Expect(DecideInterfaces(given.known(), given.outlook), GetParam());
}

/// A pod whose annotation names one network more than its plan.
Given& More(Given& given) {
  given.pod.networks = "lan";
  return given;
}
/// A running pod whose node has unplugged an interface.
Given& Unplugged(Given& given) {
  given.Formerly("10.0.0.9").outlook.unplugged = true;
  return given;
}

const Row kInterfaces[] = {
    {"AsAsked", [](Given&) {}, Act::kKeep},
    {"AsAskedAndRuns", [](Given& g) { g.pod.started = true; }, Act::kKeep},
    {"More", [](Given& g) { More(g); }, Act::kKeep, Fact::kRequest},
    {"MoreOfKuryr", [](Given& g) { More(g).Asks({"eth0", "net1"}); }, Act::kChange},
    {"MoreOfOthers", [](Given& g) { More(g).Asks({"eth0"}); }, Act::kKeep},
    {"Fewer", [](Given& g) { g.Asks({"eth0"}).pod.plan = PlanWith({"eth0", "net1"}); },
     Act::kChange},
    {"OfAnotherProducer", [](Given& g) { More(g).Asks({"eth0", "net1"}).pod.plan.ours = false; },
     Act::kKeep},
    {"Elsewhere", [](Given& g) { More(g).Asks({"eth0", "net1"}).outlook.stands_here = false; },
     Act::kKeep},
    {"Former", [](Given& g) { g.Formerly("10.0.0.9"); }, Act::kKeep, Fact::kUnplugged},
    {"FormerAndPlugged", [](Given& g) { g.Formerly("10.0.0.9").outlook.unplugged = false; },
     Act::kKeep},
    {"FormerAndUnplugged", [](Given& g) { Unplugged(g); }, Act::kKeep, Fact::kRequest},
    {"FormerAndAsked", [](Given& g) { Unplugged(g).Asks({"eth0"}); }, Act::kFree},
    {"FormerBeforeMore", [](Given& g) { More(Unplugged(g)).Asks({"eth0", "net1"}); }, Act::kFree},
    {"FewerBeforeFormer",
     [](Given& g) {
       g.pod.plan = PlanWith({"eth0", "net1"});
       Unplugged(g).Asks({"eth0"});
     },
     Act::kChange},
    {"SameNamesOfOthers",
     [](Given& g) {
       g.pod.plan = PlanWith({"eth0", "net1"});
       More(Unplugged(g)).Asks({"eth0"});
     },
     Act::kKeep},
    {"FormerBeforeItRuns", [](Given& g) { g.Formerly("10.0.0.9").pod.started = false; },
     Act::kKeep},
    {"FormerThatIsThere",
     [](Given& g) { g.Formerly("10.0.0.9").pod.addresses_there = {At("10.0.0.9")}; }, Act::kKeep},
};
INSTANTIATE_TEST_SUITE_P(Interface, DecideInterfacesTest, ::testing::ValuesIn(kInterfaces),
                         NameOfRow);

TEST(DecisionTest, NetworksThatCannotBeReadAreRefused) {
  Given given;
  given.pod.networks = "[{";
  EXPECT_THROW((void)DecideInterfaces(given.known(), given.outlook), PlanError);
}

}  // namespace
}  // namespace kuryr::controller
