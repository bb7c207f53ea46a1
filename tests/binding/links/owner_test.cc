#include "binding/links/owner.h"

#include <gtest/gtest.h>

#include <string>

#include "binding/links/link_mark.h"
#include "tests/binding/pod_attachment.h"

namespace kuryr::binding {
namespace {

const Attachment kAsked = PodAttachment(1);

/// The owner of a thing that names kAsked with another value of one member.
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

constexpr const char* kListening = "dpdkvhostuserclient";

OvsPort WantedPort(const std::string& type) {
  return {.name = "port",
          .type = type,
          .external_ids = {{"iface-id", "neutron-port"},
                           {"kuryr-container-id", "c0ffee"},
                           {"kuryr-network", "kuryr"},
                           {"vm-uuid", "pod-uid"}}};
}

/// Whether a port like the wanted one is replaced where it has `value` at `key`.
bool MayReplaceWith(const std::string& type, const std::string& key, const std::string& value) {
  const OvsPort wanted = WantedPort(type);
  PortState there{.type = type, .external_ids = wanted.external_ids};
  there.external_ids[key] = value;
  return MayReplace(there, wanted);
}

TEST(OwnerTest, APortOfTheSameContainerAndNetworkIsReplaced) {
  for (const char* type : {"", kListening}) {
    EXPECT_TRUE(MayReplaceWith(type, "iface-id", "another"));
    EXPECT_TRUE(MayReplaceWith(type, "vm-uuid", ""));
  }
}

TEST(OwnerTest, APortOfANetworkDeviceIsReplacedByTheSameNeutronPorts) {
  EXPECT_TRUE(MayReplaceWith("", "kuryr-container-id", "decade"));

  PortState there{.external_ids = {{"iface-id", "another"}, {"vm-uuid", "pod-uid"}}};
  EXPECT_FALSE(MayReplace(there, WantedPort("")));
  there.external_ids = {{"iface-id", ""}};
  OvsPort wanted = WantedPort("");
  wanted.external_ids["iface-id"] = "";
  EXPECT_FALSE(MayReplace(there, wanted));
}

TEST(OwnerTest, APortWithATypeIsReplacedByItsPodInAnotherContainer) {
  EXPECT_TRUE(MayReplaceWith(kListening, "kuryr-container-id", "decade"));
  EXPECT_FALSE(MayReplaceWith(kListening, "kuryr-network", "storage"));

  PortState there{.type = kListening, .external_ids = {{"vm-uuid", "pod-uid"}}};
  EXPECT_FALSE(MayReplace(there, WantedPort(kListening)));
  there.external_ids["kuryr-container-id"] = "decade";
  EXPECT_TRUE(MayReplace(there, WantedPort(kListening)));
  there.external_ids["vm-uuid"] = "other-uid";
  EXPECT_FALSE(MayReplace(there, WantedPort(kListening)));
}

TEST(OwnerTest, APortOfAnotherTypeIsNeverReplaced) {
  PortState there{.type = "internal", .external_ids = WantedPort("").external_ids};
  EXPECT_FALSE(MayReplace(there, WantedPort("")));
  there.type = "system";
  EXPECT_TRUE(MayReplace(there, WantedPort("")));
  EXPECT_FALSE(MayReplace(there, WantedPort(kListening)));
}

}  // namespace
}  // namespace kuryr::binding
