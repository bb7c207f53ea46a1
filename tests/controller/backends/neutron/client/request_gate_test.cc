#include "controller/backends/neutron/client/request_gate.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

namespace kuryr::controller::neutron {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using Turn = RequestGate::Turn;

TEST(RequestGateTest, AsManyAsAllowedAreUnderWayAtATime) {
  RequestGate gate({.at_a_time = 2, .patience = seconds(0)});

  EXPECT_EQ(gate.Enter(), Turn::kMine);
  EXPECT_EQ(gate.Enter(), Turn::kMine);
  EXPECT_EQ(gate.Enter(), Turn::kTooLate);
  gate.Leave();
  EXPECT_EQ(gate.Enter(), Turn::kMine);
}

TEST(RequestGateTest, WhoeverWaitsGoesOnWhenAnotherLeaves) {
  RequestGate gate({.at_a_time = 1, .patience = hours(1)});
  ASSERT_EQ(gate.Enter(), Turn::kMine);
  auto waiting = std::async(std::launch::async, [&] { return gate.Enter(); });

  gate.Leave();

  EXPECT_EQ(waiting.get(), Turn::kMine);
}

TEST(RequestGateTest, LastComesAfterWhoeverElseWaits) {
  RequestGate gate({.at_a_time = 1, .patience = hours(1)});
  ASSERT_EQ(gate.Enter(), Turn::kMine);
  std::vector<std::string> order;
  const auto enter = [&](const std::string& name, RequestGate::Rank rank) {
    EXPECT_EQ(gate.Enter(rank), Turn::kMine);
    order.push_back(name);
    gate.Leave();
  };
  auto last = std::async(std::launch::async, enter, "last", RequestGate::Rank::kLast);
  auto usual = std::async(std::launch::async, enter, "usual", RequestGate::Rank::kUsual);
  while (gate.waiting(RequestGate::Rank::kLast) == 0 ||
         gate.waiting(RequestGate::Rank::kUsual) == 0)
    std::this_thread::yield();

  gate.Leave();
  last.get();
  usual.get();

  EXPECT_EQ(order, (std::vector<std::string>{"usual", "last"}));
}

TEST(RequestGateTest, StopWakesWhoeverWaits) {
  RequestGate gate({.at_a_time = 1, .patience = hours(1)});
  ASSERT_EQ(gate.Enter(), Turn::kMine);
  auto waiting = std::async(std::launch::async, [&] { return gate.Enter(); });

  gate.Stop();

  EXPECT_EQ(waiting.get(), Turn::kStopped);
}

TEST(RequestGateTest, NoMoreBeginInASecondThanTheRateAllows) {
  RequestGate gate({.at_a_time = 100, .a_second = 10, .patience = hours(1)});
  const auto begin = RequestGate::Clock::now();

  for (int i = 0; i < 15; ++i) ASSERT_EQ(gate.Enter(), Turn::kMine);

  // Ten begin at once, then one each tenth of a second.
  EXPECT_GE(RequestGate::Clock::now() - begin, std::chrono::milliseconds(400));
}

}  // namespace
}  // namespace kuryr::controller::neutron
