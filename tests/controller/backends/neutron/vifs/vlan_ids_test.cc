#include "controller/backends/neutron/vifs/vlan_ids.h"

#include <gtest/gtest.h>

// The VLAN that a sub-port gets.

namespace kuryr::controller::neutron {
namespace {

TEST(VlanIdsTest, NoTwoTakeTheSame) {
  VlanIds ids;

  EXPECT_EQ(ids.Take("trunk", {}), 1);
  EXPECT_EQ(ids.Take("trunk", {}), 2);
  EXPECT_EQ(ids.Take("trunk", {3, 4}), 5);
  EXPECT_EQ(ids.Take("other", {}), 1);
}

TEST(VlanIdsTest, ReturnedOneComesLast) {
  VlanIds ids;
  const auto first = ids.Take("trunk", {});
  ids.Return("trunk", *first);

  EXPECT_EQ(ids.Take("trunk", {}), 2);
  std::set<uint16_t> used;
  for (uint16_t id = 2; id <= VlanIds::kMost; ++id) used.insert(id);
  EXPECT_EQ(ids.Take("trunk", used), 1);
  EXPECT_EQ(ids.Take("trunk", used), std::nullopt);
}

}  // namespace
}  // namespace kuryr::controller::neutron
