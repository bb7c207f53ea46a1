#include "controller/owners/pod_facts.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "controller/owners/pod_store.h"
#include "watcher/event_parser.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

PodFacts Facts(const json& status, const json& metadata = json::object()) {
  json pod = {{"kind", "Pod"}, {"apiVersion", "v1"}, {"status", status}, {"metadata", metadata}};
  pod["metadata"]["name"] = "a";
  pod["metadata"]["namespace"] = "default";
  return PodFactsOf(watcher::MakeEvent(watcher::EventType::kAdded, pod), {});
}

PodFacts Aged(const std::string& created, const std::string& uid, bool started = false) {
  return Facts({{"phase", started ? "Running" : "Pending"}},
               {{"creationTimestamp", created}, {"uid", uid}});
}

TEST(PodFactsTest, EachSignOfASandboxIsOne) {
  const json signs = json::parse(R"([
    {"podIP": "10.0.0.1"},
    {"podIPs": [{"ip": "10.0.0.1"}]},
    {"phase": "Running"},
    {"phase": "Failed"},
    {"conditions": [{"type": "PodReadyToStartContainers", "status": "True"}]},
    {"conditions": [{"type": "PodHasNetwork", "status": "True"}]},
    {"containerStatuses": [{"state": {"running": {"startedAt": "x"}}}]},
    {"initContainerStatuses": [{"state": {"terminated": {"exitCode": 0}}}]},
    {"containerStatuses": [{"state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": 1}}}]},
    {"containerStatuses": [{"state": {"waiting": {}}, "containerID": "containerd://1"}]}
  ])");
  for (const json& status : signs) EXPECT_TRUE(Facts(status).started) << status;
}

TEST(PodFactsTest, PodThatWaitsForItsNodeHasNone) {
  const json waiting = json::parse(R"({
    "phase": "Pending", "hostIP": "192.0.2.1", "podIPs": [],
    "conditions": [{"type": "PodScheduled", "status": "True"},
                   {"type": "PodReadyToStartContainers", "status": "False"}],
    "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}, "lastState": {},
                           "containerID": ""}]})");
  EXPECT_FALSE(Facts(waiting).started);
  EXPECT_FALSE(Facts({{"conditions", "x"}, {"containerStatuses", 7}}).started);
  EXPECT_FALSE(Facts(json::object()).started);
}

TEST(PodFactsTest, AddressesThatTheNodeTellsOfAreEachThereOnce) {
  const PodFacts facts =
      Facts({{"podIP", "10.0.0.1"},
             {"podIPs", {{{"ip", "10.0.0.1"}}, {{"ip", "fd00::1"}}, {{"ip", "x"}}}}});
  EXPECT_THAT(facts.addresses_there,
              ElementsAre(*IpAddress::Parse("10.0.0.1"), *IpAddress::Parse("fd00::1")));
}

TEST(PodFactsTest, FormerAddressesAreTheFirstSixteenThatCanBeRead) {
  std::string text = "x,10.0.0.1, ,fd00::1";
  for (int i = 0; i < 30; ++i) text += ",10.0.1." + std::to_string(i);
  const auto former = [](const std::string& value) {
    return FormerOn(watcher::MakeEvent(
        watcher::EventType::kAdded,
        {{"kind", "Pod"},
         {"apiVersion", "v1"},
         {"metadata", {{"name", "a"}, {"annotations", {{kFormerAnnotation, value}}}}}}));
  };
  EXPECT_THAT(former(text), SizeIs(kMostFormer));
  EXPECT_EQ(former(text)[1], *IpAddress::Parse("fd00::1"));
  EXPECT_THAT(former(""), IsEmpty());
}

TEST(PodFactsTest, WhoIsPluggedGoesBeforeWhoIsOlderAndTheUidDecidesTheRest) {
  const PodFacts older = Aged("2026-01-01T00:00:00Z", "z");
  const PodFacts younger = Aged("2026-01-01T00:00:01Z", "a");
  const PodFacts plugged = Aged("2026-01-01T00:00:02Z", "b", true);
  const PodFacts same = Aged("2026-01-01T00:00:01Z", "b");

  EXPECT_TRUE(GoesBefore(older, younger));
  EXPECT_TRUE(GoesBefore(plugged, older));
  EXPECT_TRUE(GoesBefore(younger, same));
  EXPECT_FALSE(GoesBefore(younger, older));
  EXPECT_FALSE(GoesBefore(older, plugged));
  EXPECT_FALSE(GoesBefore(same, same));
}

TEST(PodStoreTest, PodIsSeenOnceUntilItsPlanIsActive) {
  PodStore store{KindParts{}};
  vif::VifBridge vif;
  vif.active = false;
  json pod = {{"kind", "Pod"},
              {"apiVersion", "v1"},
              {"metadata", {{"name", "a"}, {"namespace", "default"}, {"uid", "u"}}},
              {"spec", {{"nodeName", "n"}}}};
  const auto seen = [&](const std::string& version) {
    pod["metadata"]["resourceVersion"] = version;
    store.Handle(watcher::MakeEvent(watcher::EventType::kModified, pod));
    return store.Find("default/a").pod->seen;
  };
  const auto first = seen("1");
  pod["metadata"]["annotations"][std::string(vif::kVifAnnotation)] =
      vif::EncodeAnnotation({{.ifname = "eth0", .is_default = true, .vif = vif}});

  EXPECT_EQ(seen("2"), first);
  EXPECT_EQ(seen("3"), first);
  EXPECT_TRUE(store.Find("default/a").pod->plan.present);
}

}  // namespace
}  // namespace kuryr::controller
