#include "controller/cluster/namespaces.h"
#include "controller/plan/security_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kuryr::controller {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using watcher::EventType;

constexpr const char* kGroup = "9ebc225a-aa2a-44fa-9a71-0a1e1e0c9adf";
constexpr const char* kOtherGroup = "cb51b3a7-14f6-4d8d-9275-875c45b97a89";

class NamespacesTest : public ::testing::Test {
 protected:
  void Tell(EventType type, const std::string& name, const std::string& uid,
            const json& annotations = json::object()) {
    namespaces_.Handle(watcher::MakeEvent(
        type, {{"kind", "Namespace"},
               {"metadata", {{"name", name}, {"uid", uid}, {"annotations", annotations}}}}));
  }
  std::string RefusalOf(const std::string& name) {
    try {
      (void)namespaces_.Find(name, asker_);
    } catch (const PlanError& e) {
      return e.what();
    }
    return "";
  }

  const Key asker_ = Key::OfPod("team", "a");
  std::vector<std::string> woken_;
  Namespaces namespaces_{{.wake = [this](const Key& key) { woken_.push_back(key.ToString()); }}};
};

TEST_F(NamespacesTest, HasItsUidAndTheGroupsOfItsPods) {
  Tell(EventType::kAdded, "team", "uid-1",
       {{kSecurityGroupsAnnotation, std::string(kGroup) + ", " + kOtherGroup + "\n"}});

  const auto scope = namespaces_.Find("team", asker_);

  ASSERT_TRUE(scope);
  EXPECT_EQ(scope->id, "uid-1");
  EXPECT_THAT(scope->security_groups, ElementsAre(kGroup, kOtherGroup));
  EXPECT_TRUE(namespaces_.Has("uid-1"));
  EXPECT_FALSE(namespaces_.Has("uid-2"));
  EXPECT_EQ(namespaces_.UidOf("team"), "uid-1");
  EXPECT_EQ(namespaces_.UidOf("other"), "");
}

TEST_F(NamespacesTest, WhoAsksTooEarlyIsWokenOnce) {
  EXPECT_FALSE(namespaces_.Find("team", asker_));

  Tell(EventType::kAdded, "other", "uid-0");
  EXPECT_THAT(woken_, IsEmpty());
  Tell(EventType::kAdded, "team", "uid-1");
  Tell(EventType::kModified, "team", "uid-1");

  EXPECT_THAT(woken_, ElementsAre("team/a"));
}

TEST_F(NamespacesTest, MalformedGroupsAreToldAndAskedForAgainWhenTheyChange) {
  for (const std::string& bad :
       {std::string("default"), std::string(",") + kGroup, std::string(2000, 'x')}) {
    Tell(EventType::kAdded, "team", "uid-1", {{kSecurityGroupsAnnotation, bad}});
    EXPECT_THAT(RefusalOf("team"), HasSubstr("namespace team, annotation kuryr.openstack.org/"));
  }

  Tell(EventType::kModified, "team", "uid-1", {{kSecurityGroupsAnnotation, kGroup}});

  EXPECT_THAT(woken_, ::testing::Contains("team/a"));
  EXPECT_EQ(RefusalOf("team"), "");
}

TEST_F(NamespacesTest, WhileNoneIsKnownNoneHasEnded) {
  EXPECT_TRUE(namespaces_.Has("uid-1"));

  Tell(EventType::kAdded, "team", "uid-1");
  Tell(EventType::kAdded, "default", "uid-0");
  Tell(EventType::kDeleted, "team", "uid-1");

  EXPECT_FALSE(namespaces_.Has("uid-1"));
}

TEST_F(NamespacesTest, OneThatWasMadeAnewIsAnother) {
  Tell(EventType::kAdded, "team", "uid-1");
  Tell(EventType::kModified, "team", "uid-2");

  EXPECT_FALSE(namespaces_.Has("uid-1"));
  EXPECT_EQ(namespaces_.Find("team", asker_)->id, "uid-2");
}

}  // namespace
}  // namespace kuryr::controller
