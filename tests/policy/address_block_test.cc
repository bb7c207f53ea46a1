#include "policy/address_block.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <string>

namespace kuryr::policy {
namespace {

IpNetwork Net(const std::string& text) { return IpNetwork::Parse(text).value(); }

std::vector<std::string> NetworksOf(const std::string& network,
                                    const std::vector<std::string>& except) {
  AddressBlock block{.network = Net(network), .except = {}};
  for (const std::string& part : except) block.except.push_back(Net(part));
  std::vector<std::string> texts;
  for (const IpNetwork& left : block.Networks()) texts.push_back(left.ToString());
  return texts;
}

TEST(AddressBlockTest, WithoutExceptionsIsItsNetwork) {
  EXPECT_THAT(NetworksOf("192.0.2.77/24", {}), ::testing::ElementsAre("192.0.2.0/24"));
  EXPECT_THAT(NetworksOf("::/0", {}), ::testing::ElementsAre("::/0"));
}

TEST(AddressBlockTest, ExceptionsLeaveTheOtherHalves) {
  EXPECT_THAT(NetworksOf("192.0.2.0/24", {"192.0.2.128/26"}),
              ::testing::ElementsAre("192.0.2.0/25", "192.0.2.192/26"));
  EXPECT_THAT(NetworksOf("fd00::/126", {"fd00::1/128"}),
              ::testing::ElementsAre("fd00::/128", "fd00::2/127"));
}

TEST(AddressBlockTest, ExceptionsWithinOthersAndAlikeCountOnce) {
  EXPECT_THAT(NetworksOf("10.0.0.0/8",
                         {"10.1.0.0/16", "10.1.0.0/24", "10.1.2.0/24", "10.0.0.0/9", "10.0.0.0/9"}),
              ::testing::ElementsAre("10.128.0.0/9"));
}

TEST(AddressBlockTest, ExceptionOfEverythingLeavesNothing) {
  EXPECT_THAT(NetworksOf("10.0.0.0/8", {"10.0.0.0/8"}), ::testing::IsEmpty());
  EXPECT_THAT(NetworksOf("0.0.0.0/0", {"0.0.0.0/1", "128.0.0.0/1"}), ::testing::IsEmpty());
}

TEST(AddressBlockTest, NetworksHaveTheBlocksAddressesEachOnce) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    AddressBlock block{.network = Net("10.0.0.0/24"), .except = {}};
    for (auto count = random() % 6; count > 0; --count) {
      IpNetwork part = block.network;
      part.address.bytes[3] = static_cast<uint8_t>(random());
      part.prefix_length = static_cast<uint8_t>(25 + random() % 8);
      block.except.push_back(part);
    }
    const std::vector<IpNetwork> networks = block.Networks();
    for (int host = 0; host < 256; ++host) {
      IpAddress address = block.network.address;
      address.bytes[3] = static_cast<uint8_t>(host);
      const auto count =
          std::count_if(networks.begin(), networks.end(),
                        [&](const IpNetwork& network) { return network.Contains(address); });
      ASSERT_EQ(count, block.Contains(address) ? 1 : 0) << address.ToString();
    }
  }
}

}  // namespace
}  // namespace kuryr::policy
