#include "binding/owner.h"

#include <gtest/gtest.h>

#include <string>

#include "binding/link_mark.h"
#include "tests/binding/pod_attachment.h"

namespace kuryr::binding {
namespace {

const Attachment kAsked = PodAttachment(1);

/// Whose a thing is that names kAsked, but for one member.
Owner OwnerWith(std::string Attachment::* member, const std::string& value) {
  Attachment named = kAsked;
  named.*member = value;
  return OwnerOf(named, kAsked);
}

Link Born() { return {.name = "tap0", .group = BirthGroup(kAsked)}; }

TEST(OwnerTest, AnAttachmentIsNetworkContainerAndInterface) {
  EXPECT_EQ(OwnerOf(kAsked, kAsked), Owner::kOwn);
  EXPECT_EQ(OwnerWith(&Attachment::pod, "default/renamed"), Owner::kOwn);
  EXPECT_EQ(OwnerWith(&Attachment::pod_uid, "0b1e"), Owner::kOwn);
  EXPECT_EQ(OwnerWith(&Attachment::network, "other"), Owner::kForeign);
  EXPECT_EQ(OwnerWith(&Attachment::ifname, "eth1"), Owner::kForeign);
}

TEST(OwnerTest, AnotherContainerOfThePodIsAnOlderSandbox) {
  EXPECT_EQ(OwnerWith(&Attachment::container_id, "decaf"), Owner::kOlder);
}

TEST(OwnerTest, AnotherPodOfTheNameIsReplaced) {
  Attachment named = kAsked;
  named.container_id = "decaf";
  named.pod_uid = "0b1e";
  EXPECT_EQ(OwnerOf(named, kAsked), Owner::kReplaced);

  named.pod = "default/other";
  EXPECT_EQ(OwnerOf(named, kAsked), Owner::kForeign);
}

TEST(OwnerTest, WithoutAUidThereIsNoOtherSandbox) {
  Attachment attachment = kAsked;
  attachment.pod_uid.clear();
  Attachment named = attachment;
  EXPECT_EQ(OwnerOf(named, attachment), Owner::kOwn);

  named.container_id = "decaf";
  EXPECT_EQ(OwnerOf(named, attachment), Owner::kForeign);
}

TEST(OwnerTest, OfALinkItsAliasSays) {
  Attachment older = kAsked;
  older.container_id = "decaf";

  EXPECT_EQ(OwnerOf(Link{.alias = LinkMark{kAsked}.ToString()}, kAsked), Owner::kOwn);
  EXPECT_EQ(OwnerOf(Link{.alias = LinkMark{older}.ToString()}, kAsked), Owner::kOlder);
  EXPECT_EQ(OwnerOf(Link{.alias = "uplink"}, kAsked), Owner::kForeign);
  EXPECT_EQ(OwnerOf(Link{}, kAsked), Owner::kForeign);
}

TEST(OwnerTest, UnfinishedIsALinkThatIsDownWithoutAliasInThePodsGroup) {
  EXPECT_EQ(OwnerOf(Born(), kAsked), Owner::kUnfinished);
  const auto owner_with = [](auto change) {
    Link link = Born();
    change(link);
    return OwnerOf(link, kAsked);
  };
  EXPECT_EQ(owner_with([](Link& link) { link.group = 0; }), Owner::kForeign) << "anybody's";
  EXPECT_EQ(owner_with([](Link& link) { ++link.group; }), Owner::kForeign) << "another pod's";
  EXPECT_EQ(owner_with([](Link& link) { link.group = kSharedBirthGroup; }), Owner::kForeign);
  EXPECT_EQ(owner_with([](Link& link) { link.up = true; }), Owner::kForeign);
  EXPECT_EQ(owner_with([](Link& link) { link.alias = "backup"; }), Owner::kForeign);
}

TEST(OwnerTest, DisconnectRemovesOneSetAndConnectAnother) {
  EXPECT_TRUE(IsOwn(Owner::kOwn) && IsOwn(Owner::kUnfinished));
  EXPECT_TRUE(IsLeftover(Owner::kOlder) && IsLeftover(Owner::kUnfinished));
  EXPECT_FALSE(IsLeftover(Owner::kOwn)) << "another VIF of the container with this name";
  EXPECT_FALSE(IsOwn(Owner::kOlder)) << "a late DEL";
  for (const Owner owner : {Owner::kReplaced, Owner::kForeign})
    EXPECT_FALSE(IsOwn(owner) || IsLeftover(owner));
}

}  // namespace
}  // namespace kuryr::binding
