#include "base/ip.h"

#include <gtest/gtest.h>

namespace kuryr {
namespace {

TEST(IpAddressTest, PrintsCanonically) {
  const std::pair<const char*, const char*> texts[] = {
      {"10.1.0.5", "10.1.0.5"},
      {"0.0.0.0", "0.0.0.0"},
      {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
      {"::", "::"},
      {"::ffff:10.1.0.5", "::ffff:10.1.0.5"},
      {"fe80:0000:0000:0000:0001:0000:0000:0001", "fe80::1:0:0:1"}};
  for (const auto& [text, canonical] : texts) {
    const auto address = IpAddress::Parse(text);

    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->ToString(), canonical);
  }
}

TEST(IpAddressTest, KnowsFamilyAndSize) {
  EXPECT_EQ(IpAddress::Parse("10.1.0.5")->family, IpFamily::kIpv4);
  EXPECT_EQ(IpAddress::Parse("10.1.0.5")->size(), 4U);
  EXPECT_EQ(IpAddress::Parse("::1")->family, IpFamily::kIpv6);
  EXPECT_EQ(IpAddress::Parse("::1")->size(), 16U);
  EXPECT_NE(*IpAddress::Parse("0.0.0.0"), *IpAddress::Parse("::"));
}

TEST(IpAddressTest, RefusesEverythingElse) {
  for (const std::string& text :
       {std::string(), std::string("10.1"), std::string("10.1.0.256"), std::string("10.1.0.5 "),
        std::string("10.1.0.05"), std::string("0x0a.1.0.5"), std::string("fe80::1%eth0"),
        std::string("1::2::3"), std::string("10.1.0.5/16"), std::string("10.1.0.5\0", 9),
        std::string(100, ':')}) {
    EXPECT_FALSE(IpAddress::Parse(text)) << text;
  }
}

TEST(IpNetworkTest, KeepsHostBits) {
  const auto network = IpNetwork::Parse("10.1.0.5/16");

  ASSERT_TRUE(network);
  EXPECT_EQ(network->prefix_length, 16);
  EXPECT_EQ(network->ToString(), "10.1.0.5/16");
}

TEST(IpNetworkTest, MissingLengthMeansTheWholeAddress) {
  EXPECT_EQ(IpNetwork::Parse("10.1.0.5")->ToString(), "10.1.0.5/32");
  EXPECT_EQ(IpNetwork::Parse("2001:DB8::1")->ToString(), "2001:db8::1/128");
}

TEST(IpNetworkTest, DefaultIsEverything) {
  EXPECT_EQ(IpNetwork::Default(IpFamily::kIpv4), *IpNetwork::Parse("0.0.0.0/0"));
  EXPECT_EQ(IpNetwork::Default(IpFamily::kIpv6), *IpNetwork::Parse("::/0"));
}

TEST(IpNetworkTest, RefusesEverythingElse) {
  for (const char* const text :
       {"", "/", "/8", "10.1.0.0/", "10.1.0.0/33", "10.1.0.0/-1", "10.1.0.0/+8", "10.1.0.0/8 ",
        "10.1.0.0/256", "10.1.0.0/255.255.0.0", "10.1/16", "::/129", "10.1.0.0/16/8"}) {
    EXPECT_FALSE(IpNetwork::Parse(text)) << text;
  }
}

TEST(IpNetworkTest, MaskedLosesItsHostBits) {
  const auto masked = [](const char* network) {
    return IpNetwork::Parse(network)->Masked().ToString();
  };

  EXPECT_EQ(masked("10.1.255.255/17"), "10.1.128.0/17");
  EXPECT_EQ(masked("10.1.2.3/32"), "10.1.2.3/32");
  EXPECT_EQ(masked("10.1.2.3/0"), "0.0.0.0/0");
  EXPECT_EQ(masked("2001:db8:ffff::1/33"), "2001:db8:8000::/33");
}

TEST(IpNetworkTest, ContainsByPrefix) {
  const auto contains = [](const char* network, const char* address) {
    return IpNetwork::Parse(network)->Contains(*IpAddress::Parse(address));
  };

  EXPECT_TRUE(contains("10.1.0.0/16", "10.1.255.255"));
  EXPECT_FALSE(contains("10.1.0.0/16", "10.2.0.0"));
  EXPECT_TRUE(contains("10.1.0.128/25", "10.1.0.129"));
  EXPECT_FALSE(contains("10.1.0.128/25", "10.1.0.127"));
  EXPECT_TRUE(contains("0.0.0.0/0", "255.255.255.255"));
  EXPECT_FALSE(contains("0.0.0.0/0", "::1"));
  EXPECT_TRUE(contains("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(contains("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT_TRUE(contains("::1/128", "::1"));
  EXPECT_FALSE(contains("::1/128", "::2"));
}

}  // namespace
}  // namespace kuryr
