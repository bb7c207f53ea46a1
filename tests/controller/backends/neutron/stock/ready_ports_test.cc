#include "controller/backends/neutron/stock/ready_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kuryr::controller::neutron {
namespace {

using ::testing::IsEmpty;

const PoolKey kPool = {.place = "n1", .subnets = {"subnet"}};

TEST(ReadyPortsTest, WhatIsNotListedIsReadyNoMore) {
  ReadyPorts ready(PoolOptions{});
  ready.Put(kPool, {.id = "a"});

  ready.BeginListing();

  EXPECT_THAT(ready.EndListing({}), IsEmpty());
  EXPECT_FALSE(ready.Take(kPool));
}

TEST(ReadyPortsTest, PortThatCameBackBeforeTheListAndIsPassedOverStaysReady) {
  ReadyPorts ready(PoolOptions{});
  ready.Put(kPool, {.id = "a"});

  ready.BeginListing();
  ready.PassOver("a");

  EXPECT_THAT(ready.EndListing({}), IsEmpty());
  EXPECT_TRUE(ready.Take(kPool));
}

TEST(ReadyPortsTest, WhatWasTakenDuringTheListStaysTaken) {
  ReadyPorts ready(PoolOptions{});
  ready.Put(kPool, {.id = "a"});

  ready.BeginListing();
  EXPECT_TRUE(ready.Take(kPool));

  EXPECT_THAT(ready.EndListing({{.key = kPool, .port = {.id = "a"}}}), IsEmpty());
  EXPECT_FALSE(ready.Take(kPool));
}

TEST(ReadyPortsTest, PortOfARoomCountsOnceFromWhenItIsPut) {
  ReadyPorts ready(PoolOptions{.enabled = true, .least = 2, .batch = 2});
  ReadyPorts::Room room = ready.TakeRoom(kPool, 2);
  EXPECT_EQ(ready.Lacking(kPool), 0U) << "both are on their way";

  room.Put({.id = "a"});
  EXPECT_EQ(ready.Lacking(kPool), 0U) << "one is ready, one on its way";
  EXPECT_TRUE(ready.Take(kPool));

  EXPECT_EQ(ready.Lacking(kPool), 2U) << "one is on its way, which is too few";
}

}  // namespace
}  // namespace kuryr::controller::neutron
