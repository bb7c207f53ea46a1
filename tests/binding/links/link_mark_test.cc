#include "binding/links/link_mark.h"

#include <gtest/gtest.h>

#include "binding/links/owner.h"

namespace kuryr::binding {
namespace {

const Attachment kAttachment = {.network = "kuryr",
                                .container_id = "c0ffee",
                                .ifname = "eth0",
                                .pod = "default/nginx",
                                .pod_uid = "0b1d"};

TEST(LinkMarkTest, SurvivesTheAlias) {
  const std::string alias = LinkMark{kAttachment}.ToString();

  EXPECT_EQ(alias, "kuryr-cni kuryr c0ffee eth0 0b1d default/nginx");
  const auto mark = LinkMark::Parse(alias);
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(OwnerOf(mark->attachment, kAttachment), Owner::kOwn);
  EXPECT_EQ(mark->attachment.pod, "default/nginx");
  EXPECT_EQ(mark->attachment.pod_uid, "0b1d");
}

TEST(LinkMarkTest, KeepsWhatIsUnset) {
  Attachment attachment = kAttachment;
  attachment.pod_uid.clear();
  attachment.pod.clear();

  const auto mark = LinkMark::Parse(LinkMark{attachment}.ToString());

  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->attachment.pod_uid, "");
  EXPECT_EQ(OwnerOf(mark->attachment, attachment), Owner::kOwn);
}

TEST(LinkMarkTest, CutsThePodsNameOnly) {
  Attachment attachment = kAttachment;
  attachment.pod = "default/" + std::string(253, 'p');

  const std::string alias = LinkMark{attachment}.ToString();

  EXPECT_EQ(alias.size(), 255U);
  EXPECT_EQ(OwnerOf(LinkMark::Parse(alias)->attachment, kAttachment), Owner::kOwn);
  attachment.container_id = std::string(250, 'c');
  EXPECT_THROW((void)LinkMark{attachment}.ToString(), std::system_error);
}

TEST(LinkMarkTest, RefusesWhatWouldReadAsAnotherMark) {
  Attachment attachment = kAttachment;
  attachment.container_id = "c0ffee eth1";

  EXPECT_THROW((void)LinkMark{attachment}.ToString(), std::system_error);
}

TEST(LinkMarkTest, BirthGroupIsThePods) {
  Attachment sandbox = kAttachment;
  sandbox.container_id = "decaf";
  EXPECT_EQ(BirthGroup(sandbox), BirthGroup(kAttachment)) << "another sandbox of the pod";
  Attachment other = kAttachment;
  other.pod_uid = "0b1e";
  EXPECT_NE(BirthGroup(other), BirthGroup(kAttachment));
  for (Attachment* unknown : {&sandbox, &other}) unknown->pod_uid.clear();
  EXPECT_NE(BirthGroup(sandbox), BirthGroup(other)) << "pods whose UIDs nobody knows";
  EXPECT_NE(BirthGroup(other), 0U);
}

TEST(LinkMarkTest, OtherAliasesAreNone) {
  for (const char* alias : {"", "uplink", "kuryr-cni", "kuryr-cni a b c", "docker a b c d e"}) {
    EXPECT_FALSE(LinkMark::Parse(alias).has_value()) << alias;
  }
}

TEST(LinkMarkTest, RefusalSaysWhetherAPodHasItAndNotWhich) {
  const auto refusal_of = [](const Link& link) -> std::string {
    try {
      ThrowInUse(link);
    } catch (const HostInterfaceInUse& e) {
      return e.what();
    }
  };

  EXPECT_EQ(refusal_of({.name = "tap0", .alias = LinkMark{kAttachment}.ToString()}),
            "host interface tap0 belongs to another pod");
  EXPECT_EQ(refusal_of({.name = "eth0", .alias = "kuryr-cni of somebody"}),
            "host interface eth0 was not made by kuryr-cni for this pod: if nobody needs it, "
            "\"ip link delete eth0\" frees the name");
}

}  // namespace
}  // namespace kuryr::binding
