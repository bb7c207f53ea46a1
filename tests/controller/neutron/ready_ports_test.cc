#include "controller/neutron/ready_ports.h"

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

}  // namespace
}  // namespace kuryr::controller::neutron
