#include "config/node_network_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kuryr {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

NodeNetworkOptions Read(const std::string& text) {
  const std::string path = ::testing::TempDir() + "node-network-" + std::to_string(::getpid());
  std::ofstream(path) << text;
  const ConfigFiles files({path});
  std::filesystem::remove(path);
  return ReadNodeNetwork(files);
}

std::string RefusalOfSection(const std::string& text) {
  try {
    (void)Read(text);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

TEST(NodeNetworkOptionsTest, WithoutTheSectionANodeIsLeftAlone) {
  const NodeNetworkOptions options = Read("[DEFAULT]\n");
  EXPECT_FALSE(options.enabled);
  EXPECT_EQ(options.interface, "kuryr0");
  ASSERT_EQ(options.service_cidrs.size(), 1U);
  EXPECT_EQ(options.service_cidrs[0].ToString(), "10.96.0.0/12");
  EXPECT_TRUE(options.masquerade);
  EXPECT_THAT(options.non_masquerade_cidrs, IsEmpty());
  EXPECT_TRUE(options.routes);
}

TEST(NodeNetworkOptionsTest, ListsHaveBothFamilies) {
  const NodeNetworkOptions options = Read(
      "[node_network]\nenabled = true\nservice_cidrs = 10.0.0.0/16, fd00:1::/108\n"
      "non_masquerade_cidrs =\n 192.168.0.0/16\n fd00::/8\nroutes = false\nmasquerade = no\n");
  EXPECT_TRUE(options.enabled);
  ASSERT_EQ(options.service_cidrs.size(), 2U);
  EXPECT_EQ(options.service_cidrs[1].ToString(), "fd00:1::/108");
  EXPECT_EQ(options.non_masquerade_cidrs.size(), 2U);
  EXPECT_FALSE(options.masquerade);
  EXPECT_FALSE(options.routes);
}

TEST(NodeNetworkOptionsTest, ARefusalNamesTheOptionAndTheFix) {
  EXPECT_THAT(RefusalOfSection("[node_network]\ninterface = a/b\n"),
              HasSubstr("[node_network] interface"));
  EXPECT_THAT(RefusalOfSection("[node_network]\nservice_cidrs = 10.96.0.0\n"),
              HasSubstr("[node_network] service_cidrs: \"10.96.0.0\" is no network"));
  EXPECT_THAT(RefusalOfSection("[node_network]\nservice_cidrs = 10.96.0.1/12\n"),
              HasSubstr("the network is 10.96.0.0/12"));
  EXPECT_THAT(RefusalOfSection("[node_network]\nenabled = perhaps\n"),
              HasSubstr("[node_network] enabled"));
}

}  // namespace
}  // namespace kuryr
