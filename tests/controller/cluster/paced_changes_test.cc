#include "controller/cluster/paced_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace kuryr::controller {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using watcher::EventType;
using watcher::WatchEvent;

class PacedChangesTest : public ::testing::Test {
 protected:
  using Clock = PacedChanges::Clock;

  static WatchEvent Event(const std::string& kind, const std::string& name_space,
                          const std::string& name, EventType type = EventType::kModified,
                          json metadata = json::object()) {
    metadata["namespace"] = name_space;
    metadata["name"] = name;
    if (!metadata.contains("uid")) metadata["uid"] = "uid of " + name;
    return watcher::MakeEvent(
        type, {{"kind", kind}, {"apiVersion", "v1"}, {"metadata", std::move(metadata)}});
  }
  static WatchEvent Policy(const std::string& name_space, const std::string& name,
                           EventType type = EventType::kModified) {
    return Event("NetworkPolicy", name_space, name, type);
  }
  static WatchEvent Pod(const std::string& name, EventType type, const json& labels = {},
                        const std::string& node = "") {
    return watcher::MakeEvent(
        type,
        {{"kind", "Pod"},
         {"apiVersion", "v1"},
         {"metadata", {{"namespace", "busy"}, {"name", name}, {"uid", name}, {"labels", labels}}},
         {"spec", {{"nodeName", node}}}});
  }
  /// Pods that come until the first one waits, each of which costs 2.4 s.
  void UseUpCreditByPods() {
    peers_ = 20'000;
    for (int i = 0; changes_.figures().lanes == 0; ++i)
      changes_.Handle(Pod("pod-" + std::to_string(i), EventType::kAdded));
    taken_.clear();
  }
  /// Changes until the first one waits.
  void UseUpCredit(const std::string& name_space = "busy") {
    while (changes_.figures().lanes == 0) changes_.Handle(Policy(name_space, "usual"));
    taken_.clear();
  }
  /// The events since the last call, as NAMESPACE/NAME.
  std::vector<std::string> Taken() { return std::exchange(taken_, {}); }
  /// Lets the time pass until the next change may pass, and passes it. Returns that time.
  Clock::duration PassNext() {
    const auto before = now_;
    now_ = std::max(now_, changes_.Next().value());
    changes_.PassDue();
    return now_ - before;
  }

  Clock::time_point now_{24h};
  std::chrono::nanoseconds work_ = 5ms;  ///< of each change
  std::chrono::nanoseconds worked_{};
  uint64_t peers_ = 0;  ///< that are read again after each change
  uint64_t read_again_ = 0;
  std::vector<std::string> taken_;
  std::vector<EventType> types_;
  std::vector<std::string> told_;
  PacedChanges changes_{{.take =
                             [this](const WatchEvent& event) {
                               worked_ += work_;
                               read_again_ = peers_;
                               taken_.push_back(event.name_space + "/" + event.name);
                               types_.push_back(event.type);
                               if (event.name == "bad") throw std::runtime_error("bad");
                             },
                         .tell = [this](const std::string& lane) { told_.push_back(lane); },
                         .now = [this] { return now_; },
                         .worked = [this] { return worked_; },
                         .take_peers = [this] { return std::exchange(read_again_, 0); }}};
};

TEST_F(PacedChangesTest, FirstChangesPassAtOnce) {
  changes_.Handle(Policy("busy", "a"));
  changes_.Handle(Policy("busy", "b"));

  EXPECT_THAT(Taken(), ElementsAre("busy/a", "busy/b"));
  EXPECT_EQ(changes_.Next(), std::nullopt);
}

TEST_F(PacedChangesTest, ChangesThatFollowEachOtherWaitAndOthersDoNot) {
  UseUpCredit();
  changes_.Handle(Policy("busy", "b"));
  changes_.Handle(Policy("quiet", "c"));
  changes_.Handle(Event("Service", "busy", "d"));
  changes_.Handle(Event("Namespace", "", "busy"));
  changes_.Handle(Event("AdminNetworkPolicy", "", "e"));

  EXPECT_THAT(Taken(), ElementsAre("quiet/c", "busy/d", "/busy", "/e"));
  EXPECT_EQ(changes_.figures().waiting, 2U);
  EXPECT_EQ(changes_.figures().lanes, 1U);
}

TEST_F(PacedChangesTest, PausesFollowTheWork) {
  UseUpCredit();
  changes_.Handle(Policy("busy", "b"));
  changes_.Handle(Policy("busy", "c"));
  (void)PassNext();
  EXPECT_THAT(Taken(), ElementsAre("busy/usual"));

  work_ = 50ms;
  EXPECT_EQ(PassNext(), 1s) << "after one of 5 ms";
  EXPECT_THAT(Taken(), ElementsAre("busy/b"));
  EXPECT_EQ(PassNext(), 10s) << "after one of 50 ms";
}

TEST_F(PacedChangesTest, PausesGrowWhileObjectsChangeAgainAndShrinkOtherwise) {
  UseUpCredit();
  std::vector<Clock::duration> pauses;
  for (int i = 0; i < 9; ++i) {
    changes_.Handle(Policy("busy", "usual"));
    changes_.Handle(Policy("busy", "usual"));
    pauses.push_back(PassNext());
  }
  pauses.erase(pauses.begin());
  EXPECT_THAT(pauses, ElementsAre(2s, 4s, 8s, 8s, 8s, 8s, 8s, 8s));

  for (const char* name : {"a", "b", "c"}) changes_.Handle(Policy("busy", name));
  EXPECT_EQ(PassNext(), 8s);
  EXPECT_EQ(PassNext(), 4s);
  EXPECT_EQ(PassNext(), 2s);
}

TEST_F(PacedChangesTest, AnObjectWaitsWithItsLastStateAlone) {
  UseUpCredit();
  WatchEvent changed = Policy("busy", "usual");
  for (int i = 0; i < 1000; ++i) {
    changed.resource_version = std::to_string(i);
    changes_.Handle(changed);
  }
  EXPECT_EQ(changes_.figures().waiting, 1U);
  EXPECT_EQ(changes_.FirstOf("namespace busy")->event.resource_version, "999");
  EXPECT_EQ(changes_.figures().kept, 1001U);
}

TEST_F(PacedChangesTest, OneThatComesAndGoesMeanwhileIsNotHeardOf) {
  UseUpCredit();
  changes_.Handle(Policy("busy", "new", EventType::kAdded));
  changes_.Handle(Policy("busy", "new"));
  changes_.Handle(Policy("busy", "usual", EventType::kDeleted));
  EXPECT_EQ(changes_.figures().waiting, 2U);
  changes_.Handle(Policy("busy", "new", EventType::kDeleted));
  EXPECT_EQ(changes_.figures().waiting, 1U);

  types_.clear();
  (void)PassNext();
  EXPECT_THAT(types_, ElementsAre(EventType::kDeleted));
}

TEST_F(PacedChangesTest, ANameThatIsGivenAgainLosesNoEnd) {
  UseUpCredit();
  changes_.Handle(Policy("busy", "usual", EventType::kDeleted));
  changes_.Handle(Event("NetworkPolicy", "busy", "usual", EventType::kAdded, {{"uid", "other"}}));

  types_.clear();
  (void)PassNext();
  (void)PassNext();
  EXPECT_THAT(types_, ElementsAre(EventType::kDeleted, EventType::kAdded));
}

TEST_F(PacedChangesTest, LivesOfPodsWithoutPoliciesCostNothing) {
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "pod-" + std::to_string(i);
    changes_.Handle(Pod(name, EventType::kAdded, {{"app", "web"}}));
    changes_.Handle(Pod(name, EventType::kModified, {{"app", "web"}}));
    changes_.Handle(Pod(name, EventType::kDeleted));
  }
  EXPECT_EQ(Taken().size(), 3000U);
}

TEST_F(PacedChangesTest, PodsPayForWhatIsReadAgainAndOthersDoNot) {
  UseUpCreditByPods();
  changes_.Handle(Pod("pod-0", EventType::kDeleted));
  changes_.Handle(Event("Pod", "quiet", "other", EventType::kAdded));

  EXPECT_THAT(Taken(), ElementsAre("quiet/other"));
  EXPECT_EQ(changes_.figures().waiting, 2U);
}

TEST_F(PacedChangesTest, PodsThatWaitPassTogetherForThePriceOfOne) {
  UseUpCreditByPods();
  for (int i = 0; i < 100; ++i)
    changes_.Handle(Pod("late-" + std::to_string(i), EventType::kAdded));
  (void)PassNext();
  EXPECT_EQ(Taken().size(), 101U);

  changes_.Handle(Pod("pod-0", EventType::kDeleted));
  EXPECT_EQ(PassNext(), 2400ms);
}

TEST_F(PacedChangesTest, APolicyBetweenPodsThatWaitKeepsItsPlace) {
  UseUpCreditByPods();
  changes_.Handle(Policy("busy", "deny", EventType::kAdded));
  changes_.Handle(Pod("late", EventType::kAdded));
  (void)PassNext();
  EXPECT_EQ(Taken().size(), 1U);
  (void)PassNext();
  EXPECT_THAT(Taken(), ElementsAre("busy/deny"));
  (void)PassNext();
  EXPECT_THAT(Taken(), ElementsAre("busy/late"));
}

TEST_F(PacedChangesTest, APodThatComesAndGoesWhileItWaitsCostsNothing) {
  UseUpCreditByPods();
  const auto before = changes_.Next();
  for (int i = 0; i < 100; ++i) {
    changes_.Handle(Pod("late", EventType::kAdded));
    changes_.Handle(Pod("late", EventType::kModified));
    changes_.Handle(Pod("late", EventType::kDeleted));
  }
  EXPECT_EQ(changes_.figures().waiting, 1U);
  EXPECT_EQ(changes_.Next(), before);
}

TEST_F(PacedChangesTest, StatusOfPodsPassesAndItsNodeIsPaidFor) {
  changes_.Handle(Pod("pod", EventType::kAdded));
  peers_ = 200'000;
  for (int i = 0; i < 100; ++i) changes_.Handle(Pod("pod", EventType::kModified));
  EXPECT_EQ(Taken().size(), 101U);

  changes_.Handle(Pod("pod", EventType::kModified, {}, "node1"));
  changes_.Handle(Pod("late", EventType::kAdded));
  EXPECT_EQ(Taken().size(), 1U);
  EXPECT_EQ(changes_.figures().waiting, 1U);
}

TEST_F(PacedChangesTest, LabelsOfPodsCostAsPoliciesDo) {
  changes_.Handle(Pod("pod", EventType::kAdded));
  for (int i = 0; i < 1000; ++i) changes_.Handle(Pod("pod", EventType::kModified, {{"app", i}}));

  EXPECT_LT(Taken().size(), 10U);
  EXPECT_EQ(changes_.figures().waiting, 1U);
}

TEST_F(PacedChangesTest, AFreshPodWaitsBehindThePoliciesOfItsNamespace) {
  UseUpCredit();
  changes_.Handle(Policy("busy", "deny", EventType::kAdded));
  changes_.Handle(Pod("fresh", EventType::kAdded));
  changes_.Handle(Event("Pod", "quiet", "other", EventType::kAdded));
  EXPECT_THAT(Taken(), ElementsAre("quiet/other"));

  (void)PassNext();
  (void)PassNext();
  (void)PassNext();
  EXPECT_THAT(Taken(), ElementsAre("busy/usual", "busy/deny", "busy/fresh"));
}

TEST_F(PacedChangesTest, NodesAndKuryrPortsAlwaysPass) {
  UseUpCredit();
  changes_.Handle(Event("KuryrPort", "busy", "port"));
  changes_.Handle(Event("Node", "", "node"));

  EXPECT_THAT(Taken(), ElementsAre("busy/port", "/node"));
}

TEST_F(PacedChangesTest, AHandlerThatThrowsStopsNothing) {
  UseUpCredit();
  changes_.Handle(Policy("busy", "bad"));
  changes_.Handle(Policy("busy", "good"));
  for (int i = 0; i < 3; ++i) (void)PassNext();

  EXPECT_THAT(Taken(), ElementsAre("busy/usual", "busy/bad", "busy/good"));
}

TEST_F(PacedChangesTest, AllPassWhereNobodyLeadsAnyMore) {
  UseUpCredit();
  changes_.Handle(Policy("busy", "b"));
  changes_.PassAll();
  EXPECT_THAT(Taken(), ElementsAre("busy/usual", "busy/b"));

  changes_.Handle(Policy("busy", "c"));
  EXPECT_THAT(Taken(), ElementsAre("busy/c"));
}

TEST_F(PacedChangesTest, ALongWaitIsToldOnce) {
  UseUpCredit();
  changes_.Handle(Policy("busy", "usual"));
  EXPECT_THAT(told_, IsEmpty());
  now_ += PacedChanges::kLong;
  changes_.Handle(Policy("busy", "usual"));
  changes_.Handle(Policy("busy", "usual"));

  EXPECT_THAT(told_, ElementsAre("namespace busy"));
  EXPECT_EQ(changes_.FirstOf("namespace busy")->event.name, "usual");
  EXPECT_EQ(changes_.figures().oldest, PacedChanges::kLong);
}

TEST_F(PacedChangesTest, ANamespaceThatWasQuietIsAsOneThatNeverChanged) {
  UseUpCredit();
  (void)PassNext();
  now_ += 2 * PacedChanges::kMostPause;
  taken_.clear();
  for (const char* name : {"a", "b", "c", "d"}) changes_.Handle(Policy("busy", name));

  EXPECT_EQ(Taken().size(), 4U);
}

}  // namespace
}  // namespace kuryr::controller
