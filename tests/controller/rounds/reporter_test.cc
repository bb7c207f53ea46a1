#include "controller/rounds/reporter.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "controller/owners/pod_store.h"
#include "tests/controller/cluster.h"
#include "watcher/api_client.h"

namespace kuryr::controller {
namespace {

using ::testing::SizeIs;

/// The Events and problems of one pod.
class ReporterTest : public ::testing::Test {
 protected:
  ReporterTest() {
    const nlohmann::json pod = cluster_.CreatePod("a");
    pod_.name_space = "default";
    pod_.name = "a";
    pod_.uid = pod.at("metadata").at("uid");
    pod_.node = "node1";
  }
  void Report(const std::string& reason, const std::string& message) {
    reporter_.Report(pod_.owner(), reason, message, writer_);
  }
  /// The Events up to the one that this call causes.
  std::vector<std::string> EventsOnceTold(const std::string& reason) {
    Report(reason, "the last");
    (void)cluster_.WaitForEvent("a", reason);
    return cluster_.EventsOf("a");
  }

  test::Cluster cluster_;
  PodFacts pod_;
  PodStore store_{KindParts{}};
  watcher::ApiClient client_{cluster_.ApiConfig()};
  Writer writer_{client_, store_, [] { return true; }};
  Reporter reporter_{true};
};

TEST_F(ReporterTest, WaitingPodIsToldOnceHoweverTheCountsChange) {
  Report(kNoFreeAddress, "pool small has no free address in 10.8.0.0/30: 2 are taken");
  Report(kNoFreeAddress, "pool small has no free address in 10.8.0.0/30: 1 are taken");

  EXPECT_EQ(reporter_.problems().at("default/a").message,
            "pool small has no free address in 10.8.0.0/30: 1 are taken");
  EXPECT_THAT(EventsOnceTold("KuryrPlanRefused"), SizeIs(2));
}

TEST_F(ReporterTest, WhatIsStillSoIsToldAgainBeforeTheApiServerForgetsIt) {
  Reporter patient(true);
  Reporter impatient(true, std::chrono::seconds(0));
  for (Reporter* reporter : {&patient, &patient, &impatient, &impatient})
    reporter->Report(pod_.owner(), kPortLost, "port 1 is gone", writer_);

  EXPECT_THAT(EventsOnceTold("KuryrPlanRefused"), SizeIs(4));
}

TEST_F(ReporterTest, AnotherPoolOrAnotherAddressIsNews) {
  Report(kNoFreeAddress, "pool small has no free address: 2 are taken");
  Report(kNoFreeAddress, "pool large has no free address: 2 are taken");
  Report("KuryrPlanRefused", "10.8.0.1 is the gateway");
  Report("KuryrPlanRefused", "10.8.0.2 is the gateway");

  EXPECT_THAT(EventsOnceTold("KuryrAddressConflict"), SizeIs(5));
}

TEST_F(ReporterTest, AUserWhoChangesTheMessageAllTheTimeMakesFewEvents) {
  for (int i = 0; i < 200; ++i)
    Report("KuryrPlanRefused", "annotation: \"" + std::string(static_cast<size_t>(i), 'x') + "\"");
  reporter_.Clear("default/a");
  Report("KuryrPlanRefused", "annotation: \"y\"");

  EXPECT_EQ(reporter_.problems().at("default/a").message, "annotation: \"y\"");
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (cluster_.EventsOf("a").size() < 25 && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
  EXPECT_THAT(cluster_.EventsOf("a"), SizeIs(25));
}

}  // namespace
}  // namespace kuryr::controller
