#include "controller/election/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"

namespace kuryr::controller {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

const Tenure kTenure = {
    .holder = "us",
    .duration = 15s,
    .now = std::chrono::system_clock::time_point(std::chrono::sys_days{2026y / 1 / 2} + 3h + 45us)};

json WithSpec(const json& spec) {
  return {{"metadata", {{"resourceVersion", "7"}}}, {"spec", spec}};
}

TEST(LeaseTest, ALeaseIsReadAsItStands) {
  const json spec = {{"holderIdentity", "them"}, {"leaseTransitions", 3}};

  const Lease lease = ParseLease(WithSpec(spec));

  EXPECT_EQ(lease.version, "7");
  EXPECT_EQ(lease.holder, "them");
  EXPECT_EQ(lease.transitions, 3);
  EXPECT_EQ(json::parse(lease.record), spec);
}

TEST(LeaseTest, GarbageIsNobodysLease) {
  for (
      const char* spec :
      {"null", "{}", "[]", "7", R"("us")", R"({"holderIdentity": 7, "leaseTransitions": "many"})",
       R"({"holderIdentity": null, "leaseTransitions": -5, "renewTime": "never"})",
       R"({"holderIdentity": {"a": []}, "leaseTransitions": 1.5, "leaseDurationSeconds": 1e99})"}) {
    const Lease lease = ParseLease(WithSpec(json::parse(spec)));

    EXPECT_EQ(lease.holder, "") << spec;
    EXPECT_EQ(lease.transitions, 0) << spec;
  }
}

TEST(LeaseTest, AnObjectWithoutVersionIsRefused) {
  for (const char* object : {"null", "[]", "{}", R"({"metadata": 1})",
                             R"({"metadata": {"resourceVersion": 7}, "spec": {}})"}) {
    EXPECT_THROW((void)ParseLease(json::parse(object)), ParseError) << object;
  }
}

TEST(LeaseTest, APatchByTheHolderRenews) {
  const json patch = LeasePatch({.version = "7", .holder = "us", .transitions = 3}, kTenure);

  EXPECT_EQ(patch, json::parse(R"({"metadata": {"resourceVersion": "7"}, "spec": {
    "holderIdentity": "us", "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:00:00.000045Z"}})"));
}

TEST(LeaseTest, APatchByAnotherIsATransition) {
  const json patch = LeasePatch({.version = "7", .holder = "them", .transitions = 3}, kTenure);

  EXPECT_EQ(patch.at("spec").at("leaseTransitions"), 4);
  EXPECT_EQ(patch.at("spec").at("acquireTime"), "2026-01-02T03:00:00.000045Z");
}

TEST(LeaseTest, TransitionsStayWithinWhatTheApiTakes) {
  for (const char* count : {"2147483647", "9223372036854775807", "18446744073709551615"}) {
    const Lease lease = ParseLease(WithSpec({{"leaseTransitions", json::parse(count)}}));

    const json spec = LeasePatch(lease, kTenure).at("spec");

    EXPECT_GE(spec.at("leaseTransitions"), 1) << count;
    EXPECT_LE(spec.at("leaseTransitions"), 2147483647) << count;
  }
}

TEST(LeaseTest, AShortTenureIsWrittenAsASecond) {
  Tenure tenure = kTenure;
  tenure.duration = 200ms;

  EXPECT_EQ(NewLease("x", tenure).at("spec").at("leaseDurationSeconds"), 1);
}

}  // namespace
}  // namespace kuryr::controller
