#include <gmock/gmock.h>

#include <algorithm>
#include <tuple>

#include "controller/leading.h"
#include "controller/owners/writer.h"
#include "tests/controller/leading_fixture.h"
#include "watcher/api_error.h"

// The plans of two pods have one address, as a former leader's last request may leave them.

namespace kuryr::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kVif = "openstack.org/kuryr-vif";
/// A pool with two addresses for all pods.
constexpr const char* kTwo =
    "[pool:small]\ncidr = 10.9.0.0/29\nranges = 10.9.0.2-10.9.0.3\nnamespaces = *\nrest = 0\n";

class TwoWithOneAddressTest : public LeadingTest {
 protected:
  /// Replaces the address in the text, and the MAC that follows from it.
  static std::string With(std::string text, const std::string& address, const std::string& other) {
    text = Replaced(std::move(text), MacOf(address), MacOf(other));
    return Replaced(std::move(text), address, other);
  }
  static std::string Replaced(std::string text, const std::string& one, const std::string& other) {
    const std::string from = "\"" + one + "\"";
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
      text.replace(at, from.size(), "\"" + other + "\"");
    return text;
  }
  static std::string MacOf(const std::string& address) {
    MacAddress mac{.bytes = {0x0a, 0x58}};
    const auto bytes = IpAddress::Parse(address).value().bytes;
    std::copy(bytes.begin(), bytes.begin() + 4, mac.bytes.begin() + 2);
    return mac.ToString();
  }
  /// Creates older_ and younger_.
  void CreateTwo() {
    std::vector<std::tuple<std::string, std::string, std::string>> pods;
    for (const char* name : {"a", "b"}) {
      const json created = cluster_.CreatePod(name).at("metadata");
      pods.emplace_back(created.at("creationTimestamp"), created.at("uid"), name);
    }
    std::sort(pods.begin(), pods.end());
    older_ = std::get<2>(pods[0]);
    younger_ = std::get<2>(pods[1]);
  }
  /// Starts, and waits until both are planned; returns the older one's address.
  std::string StartWithTwo() {
    Start();
    CreateTwo();
    (void)Planned(younger_);
    return AddressOn(Planned(older_));
  }
  /// Stops, and writes the older one's address into the younger one's plan; returns the address.
  std::string StopWithOneAddress() {
    std::string address = StartWithTwo();
    Stop();
    WriteOnto(younger_, address);
    return address;
  }
  /// Writes the address into a plan, like a controller that does not know the other pod.
  void WriteOnto(const std::string& name, const std::string& address) {
    const json pod = Planned(name);
    const std::string text = pod.at("metadata").at("annotations").at(kVif);
    api().Patch("pods", "default", name,
                {{"metadata", {{"annotations", {{kVif, With(text, AddressOn(pod), address)}}}}}});
  }
  json Planned(const std::string& name) { return cluster_.WaitForPlan(name); }
  json PlannedAnew(const std::string& name, const std::string& address) {
    return cluster_.WaitFor("Pod", name, [&](const json& pod) {
      return pod.is_object() && FormerOn(pod) == address && AddressOn(pod) != address;
    });
  }
  static std::string FormerOn(const json& object) {
    const json annotations = object.at("metadata").value("annotations", json::object());
    return annotations.value(controller::kFormerAnnotation, "");
  }
  void SetAddress(const std::string& pod, const std::string& address) {
    SetStatus(pod, {{"podIP", address}, {"podIPs", {{{"ip", address}}}}});
  }
  /// Returns when the controller has handled all earlier changes.
  void PassBy(const std::string& name) {
    cluster_.CreatePod(name);
    (void)cluster_.WaitForPlan(name);
  }

  std::string older_;
  std::string younger_;
};

TEST_F(TwoWithOneAddressTest, YoungerGetsAnotherWhereTheOlderHadItFirst) {
  const std::string address = StartWithTwo();

  WriteOnto(younger_, address);

  const json pod = PlannedAnew(younger_, address);
  EXPECT_THAT(AddressOn(pod), AllOf(StartsWith("10.8."), Not(address)));
  EXPECT_THAT(cluster_.WaitForEvent(younger_, "KuryrAddressChanged"),
              AllOf(HasSubstr(" " + address + ","), HasSubstr(" " + AddressOn(pod) + " ")));
  EXPECT_EQ(AddressOn(Planned(older_)), address);
  EXPECT_TRUE(HasFinalizer(pod));
}

TEST_F(TwoWithOneAddressTest, YoungerGetsAnotherWhereItHadItFirst) {
  (void)StartWithTwo();
  const std::string address = AddressOn(Planned(younger_));

  WriteOnto(older_, address);

  EXPECT_NE(AddressOn(PlannedAnew(younger_, address)), address);
  PassBy("last");
  EXPECT_EQ(AddressOn(Planned(older_)), address);
  EXPECT_THAT(cluster_.EventsOf(older_), IsEmpty());
}

TEST_F(TwoWithOneAddressTest, NextLeaderMendsWhatItFinds) {
  const std::string address = StartWithTwo();
  Stop();
  informer_.reset();
  WriteOnto(younger_, address);

  Start();

  EXPECT_EQ(FormerOn(PlannedAnew(younger_, address)), address);
  EXPECT_EQ(AddressOn(Planned(older_)), address);
}

TEST_F(TwoWithOneAddressTest, TwoYoungerOnesGetTwoOthers) {
  Start();
  CreateTwo();
  cluster_.CreatePod("c");
  std::vector<std::string> names = {"a", "b", "c"};
  std::vector<std::pair<std::string, std::string>> ages;
  for (const std::string& name : names) {
    const json metadata = Planned(name).at("metadata");
    ages.emplace_back(
        metadata.at("creationTimestamp").get<std::string>() + metadata.at("uid").get<std::string>(),
        name);
  }
  std::sort(ages.begin(), ages.end());
  const std::string address = AddressOn(Planned(ages[0].second));
  Stop();
  WriteOnto(ages[1].second, address);
  WriteOnto(ages[2].second, address);

  Start();

  const std::string second = AddressOn(PlannedAnew(ages[1].second, address));
  const std::string third = AddressOn(PlannedAnew(ages[2].second, address));
  EXPECT_NE(second, third);
  EXPECT_EQ(AddressOn(Planned(ages[0].second)), address);
}

TEST_F(TwoWithOneAddressTest, KuryrPortHasNothingOfTheFormerPlan) {
  Start(SinkKind::kKuryrPort);
  CreateTwo();
  const std::string address = AddressOn(WaitForPort(older_));
  const json port = WaitForPort(younger_);
  json status = json::parse(With(port.at("status").dump(), AddressOn(port), address));
  status["vifs"]["eth0"]["vif"]["versioned_object.data"]["former"] = "field";

  api().Patch("kuryrports", "default", younger_, {{"status", status}});

  const json now = cluster_.WaitFor("KuryrPort", younger_, [&](const json& object) {
    return HasVifs(object) && FormerOn(object) == address && AddressOn(object) != address;
  });
  EXPECT_NE(AddressOn(now), address);
  EXPECT_EQ(now.at("metadata").at("uid"), port.at("metadata").at("uid"));
  EXPECT_THAT(now.dump(), Not(HasSubstr("\"former\"")));
  EXPECT_EQ(now.at("metadata").at("annotations").at(controller::kPlannerAnnotation),
            controller::kPlanner);
  EXPECT_THAT(cluster_.WaitForEvent(younger_, "KuryrAddressChanged"), HasSubstr(AddressOn(now)));
}

TEST_F(TwoWithOneAddressTest, PodsThatRunKeepTheirPlansAndAreReported) {
  const std::string address = StartWithTwo();
  for (const std::string& name : {older_, younger_}) SetAddress(name, address);

  WriteOnto(younger_, address);

  EXPECT_THAT(cluster_.WaitForEvent(younger_, "KuryrAddressConflict"), HasSubstr(address));
  EXPECT_EQ(FormerOn(Planned(younger_)), "");
  EXPECT_EQ(AddressOn(Planned(younger_)), address);
}

TEST_F(TwoWithOneAddressTest, OlderOneGetsAnotherWhereTheYoungerRuns) {
  (void)StartWithTwo();
  const std::string address = AddressOn(Planned(younger_));
  SetAddress(younger_, address);

  WriteOnto(older_, address);

  EXPECT_NE(AddressOn(PlannedAnew(older_, address)), address);
  EXPECT_EQ(AddressOn(Planned(younger_)), address);
}

TEST_F(TwoWithOneAddressTest, AddressThatThePodWishesForStays) {
  const std::string address = StopWithOneAddress();
  api().Patch("pods", "default", younger_,
              {{"metadata", {{"annotations", {{controller::kAddressesAnnotation, address}}}}}});

  Start();

  EXPECT_THAT(cluster_.WaitForEvent(younger_, "KuryrAddressConflict"), HasSubstr(address));
  PassBy("last");
  EXPECT_EQ(AddressOn(Planned(younger_)), address);
}

TEST_F(TwoWithOneAddressTest, PodThatWasPluggedUnheardIsReportedAndKeepsItsAddress) {
  Pools("[pool:small]\ncidr = 10.9.0.0/29\nranges = 10.9.0.2-10.9.0.4\nnamespaces = *\nrest = 0\n");
  const std::string address = StartWithTwo();
  WriteOnto(younger_, address);
  const std::string now = AddressOn(PlannedAnew(younger_, address));

  SetAddress(younger_, address);

  EXPECT_THAT(cluster_.WaitForEvent(younger_, "KuryrAddressConflict"),
              AllOf(HasSubstr(address), HasSubstr("delete the pod")));
  SetStatus(older_, {{"phase", "Succeeded"}});
  EXPECT_TRUE(cluster_.WaitForRelease(older_).contains("metadata"));
  PassBy("c");
  cluster_.CreatePod("d");
  EXPECT_THAT(cluster_.WaitForEvent("d", "KuryrNoFreeAddress"), HasSubstr("small"));
  Restart();
  cluster_.CreatePod("e");
  EXPECT_THAT(cluster_.WaitForEvent("e", "KuryrNoFreeAddress"), HasSubstr("small"));
  EXPECT_EQ(AddressOn(Planned(younger_)), now);
  SetStatus(younger_, {{"phase", "Succeeded"}});
  EXPECT_THAT(AddressOn(Planned("d")), ::testing::AnyOf(address, now));
  EXPECT_THAT(AddressOn(Planned("e")), ::testing::AnyOf(address, now));
  EXPECT_EQ(FormerOn(cluster_.WaitForRelease(younger_)), "");
}

TEST_F(TwoWithOneAddressTest, AddressThatANodeTellsOfIsNobodyElses) {
  Pools(kTwo);
  Start();
  cluster_.CreatePod("a");
  const std::string address = AddressOn(Planned("a"));
  const std::string other = address == "10.9.0.2" ? "10.9.0.3" : "10.9.0.2";

  SetAddress("a", other);
  (void)cluster_.WaitFor("Pod", "a", [&](const json& pod) {
    return pod.is_object() && pod.at("status").value("podIP", "") == other;
  });
  Restart();
  cluster_.CreatePod("b");

  EXPECT_THAT(cluster_.WaitForEvent("b", "KuryrNoFreeAddress"), HasSubstr("small"));
}

TEST_F(TwoWithOneAddressTest, NextLeaderKeepsTheNewPlan) {
  const std::string address = StartWithTwo();
  WriteOnto(younger_, address);
  const json pod = PlannedAnew(younger_, address);

  Restart();
  PassBy("last");

  EXPECT_EQ(Planned(younger_), pod);
  EXPECT_THAT(cluster_.EventsOf(older_), IsEmpty());
}

TEST_F(TwoWithOneAddressTest, PodThatChangesMeanwhileIsLookedAtAgain) {
  const std::string address = StopWithOneAddress();
  for (int i = 0; i < 2; ++i) {
    fake::Fault conflict = fake::Fault::Status(409, "the object has been modified");
    conflict.verb = "patch";
    api().Inject(conflict);
  }

  Start();

  EXPECT_NE(AddressOn(PlannedAnew(younger_, address)), address);
}

TEST_F(TwoWithOneAddressTest, WithoutAnotherAddressItIsToldAndTriedAgain) {
  Pools(kTwo);
  const std::string address = StopWithOneAddress();
  cluster_.CreatePod("c");
  Start();
  (void)Planned("c");
  EXPECT_THAT(cluster_.WaitForEvent(younger_, "KuryrNoFreeAddress"), HasSubstr("small"));

  SetStatus("c", {{"phase", "Succeeded"}});

  EXPECT_NE(AddressOn(PlannedAnew(younger_, address)), address);
}

TEST_F(TwoWithOneAddressTest, ConflictIsOverWhenOneOfThemIsGone) {
  const std::string address = StartWithTwo();
  for (const std::string& name : {older_, younger_}) SetAddress(name, address);
  WriteOnto(younger_, address);
  (void)cluster_.WaitForEvent(younger_, "KuryrAddressConflict");

  SetStatus(older_, {{"phase", "Succeeded"}});

  (void)cluster_.WaitForRelease(older_);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!reporter_.problems().empty() && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
  EXPECT_THAT(reporter_.problems(), IsEmpty());
}

TEST_F(TwoWithOneAddressTest, LatePatchOfAKuryrPortIsRefused) {
  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("a");
  const json port = WaitForPort("a");
  const json pod = cluster_.WaitFor("Pod", "a", HasFinalizer);
  Stop();
  api().Patch("kuryrports", "default", "a", {{"metadata", {{"labels", {{"changed", "yes"}}}}}});
  watcher::ApiClient client(cluster_.ApiConfig());
  controller::Writer writer(client, informer_->kinds().pods, [] { return true; });
  const controller::PodFacts facts =
      controller::PodFactsOf(watcher::MakeEvent(watcher::EventType::kAdded, pod), {});
  const json& metadata = port.at("metadata");

  try {
    writer.PatchPortStatus(facts, {metadata.at("uid"), metadata.at("resourceVersion")},
                           {{"vifs", json::object()}});
    FAIL() << "written";
  } catch (const watcher::ApiError& e) {
    EXPECT_EQ(e.code(), 409);
  }
}

}  // namespace
}  // namespace kuryr::test
