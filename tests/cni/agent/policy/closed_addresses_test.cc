#include "cni/agent/policy/closed_addresses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

// Which addresses of pods that are gone a node keeps closed.

namespace kuryr::cni {
namespace {

using binding::Filter;
using binding::FilterChain;
using binding::FilterRule;
using binding::PacketEnd;

IpAddress Ip(const std::string& text) { return IpAddress::Parse(text).value(); }

const IpAddress kAddress = Ip("10.244.0.7");

/// A pod of that address that may receive nothing.
Filter Isolating(const IpAddress& address) {
  FilterChain chain = {
      .pod = PacketEnd::kDestination,
      .rules = {{.family = address.family, .set = "peers", .verdict = FilterRule::Verdict::kAccept},
                {.verdict = FilterRule::Verdict::kDrop}}};
  const std::string name = binding::NameOf(chain);
  return {.chains = {{name, std::make_shared<FilterChain>(chain)}},
          .senders = {},
          .receivers = {{address, name}}};
}

bool IsClosed(const Filter& filter, const IpAddress& address) {
  const auto drops = [&](const std::map<IpAddress, std::string>& jumps) {
    const auto jump = jumps.find(address);
    return jump != jumps.end() &&
           filter.chains.at(jump->second)->rules ==
               std::vector<FilterRule>{{.verdict = FilterRule::Verdict::kDrop}};
  };
  return drops(filter.senders) && drops(filter.receivers);
}

class ClosedAddressesTest : public ::testing::Test {
 protected:
  /// The filter with what is closed in it.
  Filter Close(Filter filter, const LocalPods& pods) {
    closed_.CloseIn(filter, pods);
    return filter;
  }

  ClosedAddresses closed_;
};

TEST_F(ClosedAddressesTest, PodsThatRunKeepTheirChains) {
  EXPECT_TRUE(std::ranges::equal(
      Close(Isolating(kAddress), {{"a", {kAddress}}}).chains, Isolating(kAddress).chains, {},
      &binding::FilterChains::value_type::first, &binding::FilterChains::value_type::first));
}

TEST_F(ClosedAddressesTest, AddressWithAChainIsClosedWhenItsPodIsGone) {
  Close(Isolating(kAddress), {{"a", {kAddress}}});

  EXPECT_TRUE(IsClosed(Close({}, {}), kAddress));
  EXPECT_TRUE(IsClosed(Close({}, {}), kAddress));
}

TEST_F(ClosedAddressesTest, AddressWithoutAChainIsNot) {
  Close({}, {{"a", {kAddress}}});

  EXPECT_TRUE(Close({}, {}).empty());
}

TEST_F(ClosedAddressesTest, ItIsOpenForTheNextPodThatNoPolicySelects) {
  Close(Isolating(kAddress), {{"a", {kAddress}}});
  Close({}, {});

  EXPECT_TRUE(Close({}, {{"b", {kAddress}}}).empty());
  EXPECT_TRUE(Close({}, {}).empty());
}

TEST_F(ClosedAddressesTest, ItIsOpenForAPodOfAnotherNode) {
  Close(Isolating(kAddress), {{"a", {kAddress}}});
  Close({}, {});

  closed_.OpenTo("elsewhere", {kAddress});

  EXPECT_TRUE(Close({}, {}).empty());
}

TEST_F(ClosedAddressesTest, WhatIsStillToldOfItsOwnPodDoesNotOpenIt) {
  Close(Isolating(kAddress), {{"a", {kAddress}}});
  Close({}, {});

  closed_.OpenTo("a", {kAddress});

  EXPECT_TRUE(IsClosed(Close({}, {}), kAddress));
}

TEST_F(ClosedAddressesTest, ItIsOpenWhenNoPolicyIsLeft) {
  Close(Isolating(kAddress), {{"a", {kAddress}}});

  closed_.Clear();

  EXPECT_TRUE(Close({}, {}).empty());
}

TEST_F(ClosedAddressesTest, TheOldestOfVeryManyIsOpen) {
  for (int number = 0; number < 1000; ++number) {
    const IpAddress address = Ip("fd00::" + std::to_string(number));
    Close(Isolating(address), {{"a", {address}}});
  }

  const Filter filter = Close({}, {});

  EXPECT_FALSE(IsClosed(filter, Ip("fd00::0")));
  EXPECT_TRUE(IsClosed(filter, Ip("fd00::999")));
  EXPECT_LT(filter.senders.size(), 1000U);
}

}  // namespace
}  // namespace kuryr::cni
