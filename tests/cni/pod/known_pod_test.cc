#include "cni/pod/known_pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cni/pod/event_vifs.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using watcher::EventType;
using watcher::MakeEvent;
using watcher::WatchEvent;

/// Of pod default/pod-5bb648d658-55n76.
json PortSample(const std::string& name) {
  return json::parse(std::ifstream(KURYR_TEST_DATA "/vif-samples/kuryrport/" + name + ".json"));
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
  std::optional<WatchEvent> Take(const json& object, EventType type = EventType::kAdded) {
    return known_.Take(MakeEvent(type, object));
  }
  /// The first VIF's address, "" where there is no VIF.
  [[nodiscard]] std::string Mac() const {
    const auto event = known_.event();
    const auto vifs = event ? VifsOf(*event) : std::nullopt;
    return vifs ? vif::Common(vifs->at(0).vif).address->ToString() : "";
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
  EXPECT_FALSE(Take(port_));
  EXPECT_EQ(Mac(), "");
}

TEST_F(KnownPodTest, AKuryrPortsVifsAreItsPods) {
  EXPECT_FALSE(Take(port_));
  const auto event = Take(pod_);

  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, "Pod");
  EXPECT_EQ(event->uid, pod_["metadata"]["uid"].get<std::string>());
  EXPECT_EQ(Mac(), kMac);
}

TEST_F(KnownPodTest, TheOrderDoesNotMatter) {
  EXPECT_TRUE(Take(pod_));
  EXPECT_EQ(Mac(), "");
  EXPECT_TRUE(Take(port_));
  EXPECT_EQ(Mac(), kMac);
}

TEST_F(KnownPodTest, OfWhatNoAddAsksForNothingIsTold) {
  (void)Take(port_);
  (void)Take(pod_);
  pod_["status"]["phase"] = "Running";
  json port = port_;
  port["metadata"]["resourceVersion"] = "999999";

  EXPECT_FALSE(Take(pod_, EventType::kModified));
  EXPECT_FALSE(Take(port, EventType::kModified));
}

TEST_F(KnownPodTest, EventsThatAreNoStateAreNone) {
  for (const EventType type : {EventType::kBookmark, EventType::kError, EventType::kUnknown}) {
    EXPECT_FALSE(Take(pod_, type));
    EXPECT_FALSE(Take(port_, type));
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
  const auto event = Take(pod);

  EXPECT_NE(Mac(), "");
  EXPECT_EQ(event->object->at("metadata").at("annotations").at("kubernetes.io/config.hash"),
            port["spec"]["podUid"]);
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

  EXPECT_TRUE(Take(PortSample("deleting"), EventType::kModified));
  EXPECT_EQ(Mac(), "");
}

TEST_F(KnownPodTest, AKuryrPortWithoutVifsIsAwaited) {
  (void)Take(pod_);
  EXPECT_TRUE(Take(PortSample("empty")));
  EXPECT_EQ(Mac(), "");
}

TEST_F(KnownPodTest, WhenItsKuryrPortIsGoneThePodStays) {
  (void)Take(port_);
  (void)Take(pod_);

  const auto event = Take(port_, EventType::kDeleted);

  ASSERT_TRUE(event);
  EXPECT_NE(event->type, EventType::kDeleted);
  EXPECT_EQ(Mac(), "");
  EXPECT_FALSE(known_.empty());
}

TEST_F(KnownPodTest, WhenThePodIsGoneNothingIsKnownOfIt) {
  (void)Take(port_);
  (void)Take(pod_);

  EXPECT_EQ(Take(pod_, EventType::kDeleted)->type, EventType::kDeleted);
  EXPECT_FALSE(known_.event());
  EXPECT_FALSE(known_.empty());
  EXPECT_FALSE(Take(port_, EventType::kDeleted));
  EXPECT_TRUE(known_.empty());
}

TEST_F(KnownPodTest, WhatCannotBeDecodedIsNamed) {
  const auto problem = [&](const json& vifs) {
    json port = port_;
    port["status"]["vifs"] = vifs;
    (void)Take(port);
    try {
      (void)VifsOf(*known_.event());
    } catch (const ParseError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  (void)Take(pod_);
  const std::string name = "KuryrPort default/pod-5bb648d658-55n76: $.status.vifs";

  EXPECT_THAT(problem({{"eth0", {{"default", true}}}}), HasSubstr(name + ".eth0.vif: "));
  EXPECT_THAT(problem("text"), HasSubstr(name + ": "));
  EXPECT_THAT(problem({{"eth0", std::string(300'000, 'x')}}), HasSubstr("too large: 300"));
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
        EXPECT_NO_THROW((void)known_.event());
      }
    }
  }
}

}  // namespace
}  // namespace kuryr::cni
