#include "base/chassis_mark.h"

#include <gtest/gtest.h>

#include <string>

namespace kuryr {
namespace {

TEST(ChassisMarkTest, IsReadAsItWasWritten) {
  const ChassisMark mark = {.cluster = "kuryr", .node = "node1.example.net", .machine = "6ad1"};

  const auto read = ChassisMark::Parse("enable-chassis-as-gw," + mark.ToString() + ",other=1");

  ASSERT_TRUE(read);
  EXPECT_EQ(read->cluster, "kuryr");
  EXPECT_EQ(read->node, "node1.example.net");
  EXPECT_EQ(read->machine, "6ad1");
}

TEST(ChassisMarkTest, NeedsAClusterAndANode) {
  for (const char* options :
       {"", ",", "enable-chassis-as-gw", "kuryr-node=n1", "kuryr-cluster=kuryr,kuryr-machine=6ad1",
        "kuryr-cluster=,kuryr-node=n1", "kuryr-cluster=kuryr,kuryr-node=n1?x",
        "xkuryr-cluster=kuryr,kuryr-node=n1"})
    EXPECT_FALSE(ChassisMark::Parse(options)) << options;
  EXPECT_EQ(ChassisMark::Parse("kuryr-cluster=kuryr,kuryr-node=n1").value().machine, "");
}

TEST(ChassisMarkTest, MachineThatCouldBreakAMarkIsLeftOut) {
  EXPECT_EQ(CheckedMachine("6ad1b6f0-0C"), "6ad1b6f0-0C");
  EXPECT_EQ(CheckedMachine("6ad1,kuryr-node=n2"), "");
  EXPECT_EQ(CheckedMachine(std::string(65, 'a')), "");
}

}  // namespace
}  // namespace kuryr
