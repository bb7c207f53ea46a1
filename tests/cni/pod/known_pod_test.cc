#include "cni/pod/known_pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/paths.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using watcher::EventType;
using watcher::MakeEvent;
using Change = KnownPod::Change;

/// A KuryrPort of pod default/pod-5bb648d658-55n76.
json PortSample(const std::string& name) {
  return json::parse(std::ifstream(test::TestData() + "/vif-samples/kuryrport/" + name + ".json"));
}

const json kNode = {{"kind", "Node"}, {"name", "node1"}};

json PodOf(const json& port) {
  return {{"kind", "Pod"},
          {"metadata",
           {{"namespace", port["metadata"]["namespace"]},
            {"name", port["metadata"]["name"]},
            {"uid", port["spec"]["podUid"]}}}};
}

class KnownPodTest : public ::testing::Test {
 protected:
  Change Take(const json& object, EventType type = EventType::kAdded) {
    return known_.Learn(MakeEvent(type, object));
  }
  /// The first VIF's address, "" where there is no VIF.
  [[nodiscard]] std::string Mac() const {
    const auto pod = known_.pod();
    if (!pod || !pod->plan || pod->plan->vifs().empty()) return "";
    return vif::Common(pod->plan->vifs().at(0).vif).address->ToString();
  }

  static constexpr const char* kMac = "fa:16:3e:80:d4:21";
  const json port_ = PortSample("ovs-active");
  json pod_ = PodOf(port_);
  KnownPod known_;
};

TEST_F(KnownPodTest, WhereKuryrPortsAloneCountAnAnnotationIsNothing) {
  known_ = KnownPod(VifSource::kKuryrPort);
  json forged = pod_;
  forged["metadata"]["annotations"]["openstack.org/kuryr-vif"] = "forged";

  (void)Take(forged);
  EXPECT_EQ(Mac(), "");
  (void)Take(port_);
  EXPECT_EQ(Mac(), kMac);
}

TEST_F(KnownPodTest, WhereAnnotationsAloneCountAKuryrPortIsNothing) {
  known_ = KnownPod(VifSource::kAnnotation);

  (void)Take(pod_);
  EXPECT_EQ(Take(port_), Change::kNone);
  EXPECT_EQ(Mac(), "");
}

TEST_F(KnownPodTest, AKuryrPortsVifsAreItsPods) {
  EXPECT_EQ(Take(port_), Change::kNone);
  EXPECT_EQ(Take(pod_), Change::kPresent);

  EXPECT_EQ(known_.pod()->plan->kind, "KuryrPort");
  EXPECT_EQ(known_.pod()->uid, pod_["metadata"]["uid"].get<std::string>());
  EXPECT_EQ(Mac(), kMac);
}

TEST_F(KnownPodTest, TheOrderDoesNotMatter) {
  EXPECT_EQ(Take(pod_), Change::kPresent);
  EXPECT_EQ(Mac(), "");
  EXPECT_EQ(Take(port_), Change::kPresent);
  EXPECT_EQ(Mac(), kMac);
}

TEST_F(KnownPodTest, OfWhatNoAddAsksForNothingIsTold) {
  (void)Take(port_);
  (void)Take(pod_);
  pod_["status"]["phase"] = "Running";
  json port = port_;
  port["metadata"]["resourceVersion"] = "999999";

  EXPECT_EQ(Take(pod_, EventType::kModified), Change::kNone);
  EXPECT_EQ(Take(port, EventType::kModified), Change::kNone);
}

TEST_F(KnownPodTest, WhatNobodyReadsIsNoChange) {
  (void)Take(pod_);
  (void)Take(port_);
  json port = port_;
  json& vif = port["status"]["vifs"]["eth0"]["vif"];
  vif["versioned_object.changes"] = {"active", "network"};
  vif["versioned_object.data"]["of_tomorrow"] = "x";

  EXPECT_EQ(Take(port, EventType::kModified), Change::kNone);
}

TEST_F(KnownPodTest, EventsThatAreNoStateAreNone) {
  for (const EventType type : {EventType::kBookmark, EventType::kError, EventType::kUnknown}) {
    EXPECT_EQ(Take(pod_, type), Change::kNone);
    EXPECT_EQ(Take(port_, type), Change::kNone);
  }
  EXPECT_TRUE(known_.empty());
}

TEST_F(KnownPodTest, TheAnnotationWins) {
  pod_["metadata"]["annotations"]["openstack.org/kuryr-vif"] = "{}";
  (void)Take(pod_);
  (void)Take(port_);

  EXPECT_TRUE(known_.annotated());
  EXPECT_EQ(Mac(), "");
}

TEST_F(KnownPodTest, AnotherPodsKuryrPortIsNotUsed) {
  (void)Take(port_);
  pod_["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555";
  (void)Take(pod_);
  EXPECT_EQ(Mac(), "");

  json of_nobody = port_;
  of_nobody["spec"].erase("podUid");
  (void)Take(of_nobody, EventType::kModified);
  EXPECT_EQ(Mac(), "");
}

TEST_F(KnownPodTest, AStaticPodIsAlsoTheHashOfItsManifest) {
  const json port = PortSample("static-pod");
  json pod = PodOf(port);
  pod["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555";
  for (const char* key : {"kubernetes.io/config.hash", "kubernetes.io/config.mirror"})
    pod["metadata"]["annotations"][key] = port["spec"]["podUid"];
  pod["metadata"]["ownerReferences"] = json::array({kNode});
  (void)Take(port);
  (void)Take(pod);

  EXPECT_NE(Mac(), "");
  EXPECT_EQ(known_.pod()->manifest_hash, port["spec"]["podUid"].get<std::string>());
  EXPECT_TRUE(known_.IsOf(port["spec"]["podUid"]));
  EXPECT_FALSE(known_.IsOf(""));
}

TEST_F(KnownPodTest, APodThatNamesAnotherOnesUidGetsNothingOfIt) {
  (void)Take(port_);
  json pod = pod_;
  pod["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555";
  pod["metadata"]["annotations"]["kubernetes.io/config.hash"] = port_["spec"]["podUid"];
  (void)Take(pod);
  EXPECT_EQ(Mac(), "");

  json owned = pod;
  owned["metadata"]["ownerReferences"] = json::array({kNode});
  (void)Take(owned);
  EXPECT_EQ(Mac(), "") << "anybody may name an owner";

  json marked = pod;
  marked["metadata"]["annotations"]["kubernetes.io/config.mirror"] = port_["spec"]["podUid"];
  (void)Take(marked);
  EXPECT_EQ(Mac(), "");
}

TEST_F(KnownPodTest, AKuryrPortThatIsBeingDeletedPlansNothing) {
  (void)Take(port_);
  (void)Take(pod_);

  EXPECT_EQ(Take(PortSample("deleting"), EventType::kModified), Change::kPresent);
  EXPECT_EQ(Mac(), "");
}

/// The pod's KuryrPort is of kuryr-controller.
class PlannersPortTest : public KnownPodTest {
 protected:
  PlannersPortTest() {
    ours_["metadata"]["annotations"] = {{vif::kPlannerAnnotation, vif::kPlanner}};
    held_["metadata"]["finalizers"] = {"example.org/own", vif::kPodFinalizer};
  }

  json ours_ = port_;
  json held_ = pod_;
};

TEST_F(PlannersPortTest, PlansUntilItIsGone) {
  (void)Take(ours_);
  (void)Take(held_);
  ours_["metadata"]["deletionTimestamp"] = "2026-11-27T10:00:00Z";

  (void)Take(ours_, EventType::kModified);

  EXPECT_EQ(Mac(), kMac);
}

TEST_F(PlannersPortTest, PlansNothingBeforeThePodIsHeld) {
  (void)Take(pod_);
  EXPECT_EQ(Take(ours_), Change::kNone);
  EXPECT_EQ(Mac(), "");
  EXPECT_FALSE(known_.complete());

  EXPECT_EQ(Take(held_, EventType::kModified), Change::kPresent);

  EXPECT_EQ(Mac(), kMac);
  EXPECT_TRUE(known_.complete());
}

TEST_F(PlannersPortTest, PlansAlsoWhenThePodIsHeldNoMore) {
  (void)Take(ours_);
  (void)Take(held_);

  EXPECT_EQ(Take(pod_, EventType::kModified), Change::kNone);

  EXPECT_EQ(Mac(), kMac);
}

TEST_F(PlannersPortTest, HoldOfAnEarlierPodIsNotThisOnes) {
  (void)Take(held_);
  pod_["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555";
  ours_["spec"]["podUid"] = pod_["metadata"]["uid"];
  (void)Take(pod_, EventType::kModified);

  (void)Take(ours_);

  EXPECT_EQ(Mac(), "");
}

TEST_F(KnownPodTest, AKuryrPortWithoutVifsIsAwaited) {
  (void)Take(pod_);
  EXPECT_EQ(Take(PortSample("empty")), Change::kPresent);
  EXPECT_EQ(Mac(), "");
}

TEST_F(KnownPodTest, WhenItsKuryrPortIsGoneThePodStays) {
  (void)Take(port_);
  (void)Take(pod_);

  EXPECT_EQ(Take(port_, EventType::kDeleted), Change::kPresent);

  EXPECT_EQ(Mac(), "");
  EXPECT_FALSE(known_.empty());
}

TEST_F(KnownPodTest, WhenThePodIsGoneNothingIsKnownOfIt) {
  (void)Take(port_);
  (void)Take(pod_);

  EXPECT_EQ(Take(pod_, EventType::kDeleted), Change::kGone);
  EXPECT_FALSE(known_.pod());
  EXPECT_TRUE(known_.empty());
  EXPECT_EQ(Take(port_, EventType::kDeleted), Change::kNone);
  EXPECT_TRUE(known_.empty());
}

TEST_F(KnownPodTest, WhatCannotBeDecodedIsNamed) {
  const auto problem = [&](const json& vifs) {
    json port = port_;
    port["status"]["vifs"] = vifs;
    (void)Take(port);
    const auto& why = known_.pod()->plan->problem;
    return why ? std::string(why->what()) : std::string();
  };
  (void)Take(pod_);
  const std::string name = "KuryrPort default/pod-5bb648d658-55n76: $.status.vifs";

  EXPECT_THAT(problem({{"eth0", {{"default", true}}}}), HasSubstr(name + ".eth0.vif: "));
  EXPECT_THAT(problem("text"), HasSubstr(name + ": "));
  pod_["metadata"]["annotations"]["openstack.org/kuryr-vif"] = 7;
  (void)Take(pod_);
  EXPECT_THAT(problem(json::object()), HasSubstr("Pod default/pod-5bb648d658-55n76: $.metadata"));
}

TEST_F(KnownPodTest, ObjectsOfAnyShapeAreTaken) {
  for (const json& odd : {json(7), json::array({1}), json("x"), json::object(), json(nullptr)}) {
    for (const char* part : {"metadata", "spec", "status"}) {
      for (json object : {pod_, port_}) {
        if (part != std::string("metadata") || odd.is_object()) object[part] = odd;
        EXPECT_NO_THROW((void)Take(object));
        EXPECT_NO_THROW((void)known_.pod());
      }
    }
  }
}

}  // namespace
}  // namespace kuryr::cni
