#include "controller/kinds/key.h"

#include <gtest/gtest.h>

#include "controller/cluster/policies.h"
#include "controller/cluster/services.h"

namespace kuryr::controller {
namespace {

TEST(KeyTest, OwnersAreLoggedByTheirNamesAndOthersWithTheirKinds) {
  EXPECT_EQ(Key::OfPod("team", "web").ToString(), "team/web");
  EXPECT_EQ(Key::OfNode("node1").ToString(), "/node1");
  EXPECT_EQ((Key{Policies::kKind, "team/deny"}).ToString(), "networkpolicy:team/deny");
  EXPECT_EQ((Key{Services::kKind, "team/web"}).ToString(), "service:team/web");
}

TEST(KeyTest, OwnersKeyIsOfAPodOrANode) {
  EXPECT_EQ(Key::Of({.id = "1", .scope = "team", .name = "web", .node = "node1"}),
            Key::OfPod("team", "web"));
  EXPECT_EQ(Key::Of({.id = "2", .scope = "", .name = "node1", .node = "node1"}),
            Key::OfNode("node1"));
}

TEST(KeyTest, ObjectsOfOneKindAndNamespaceShareATurn) {
  EXPECT_EQ(TurnOf(Key::OfPod("team", "a")), TurnOf(Key::OfPod("team", "b")));
  EXPECT_NE(TurnOf(Key::OfPod("team", "a")), TurnOf(Key::OfPod("other", "a")));
  EXPECT_NE(TurnOf(Key::OfPod("team", "a")), TurnOf({Services::kKind, "team/a"}));
}

TEST(KeyTest, ObjectsOfTwoKindsWithOneNameHaveTwoKeys) {
  const Key pod = Key::OfPod("team", "web");
  const Key service = {Services::kKind, "team/web"};

  EXPECT_NE(pod, service);
  EXPECT_NE(std::hash<Key>()(pod), std::hash<Key>()(service));
}

}  // namespace
}  // namespace kuryr::controller
