#include "cni/attachments/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "binding/netns.h"
#include "tests/binding/vifs.h"

namespace kuryr::cni {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Records of pods that live in this process's own namespace.
class IdentityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "kuryr-identity-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    store_.emplace(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Of pod `n`, planned and not plugged.
  static AttachmentRecord RecordOf(int n, const vif::Vif& vif, const binding::Plug& plug) {
    const std::string number = std::to_string(n);
    return {.key = {"kuryr", "container-" + number, "eth0"},
            .netns = "/proc/self/ns/net",
            .netns_id = binding::Netns::Current().id(),
            .pod = "default/pod-" + number,
            .pod_uid = "uid-" + number,
            .boot_id = BootId(),
            .plugs = {plug},
            .vifs = {{.ifname = "eth0", .is_default = true, .vif = vif}}};
  }
  static AttachmentRecord OvsRecord(int n, const vif::VifOpenVSwitch& vif) {
    return RecordOf(n, vif, {"ovs", "eth0", *vif.vif_name, "br-int", ""});
  }
  static AttachmentRecord VlanRecord(int n, uint16_t vlan) {
    return RecordOf(n, test::VlanVif(1, vlan), {"nested", "eth0", "", "", ""});
  }
  void Write(const AttachmentRecord& record) { store_->Create(record.key)->Write(record); }
  /// Written beside what is there; the refusal in words, or nothing.
  std::string Refusal(const AttachmentRecord& own) {
    Write(own);
    try {
      RequireOwnIdentity(own, *store_);
    } catch (const binding::HostInterfaceInUse& e) {
      return e.what();
    }
    return "";
  }
  /// The VIF of pod 2 with what pod 1 has.
  static vif::VifOpenVSwitch Double() {
    vif::VifOpenVSwitch vif = test::OvsVif(1);
    vif.id = test::OvsVif(2).id;
    vif.port_profile.reset();
    vif.vif_name = test::OvsVif(2).vif_name;
    return vif;
  }

  std::filesystem::path folder_;
  std::optional<AttachmentStore> store_;
};

TEST_F(IdentityTest, PortOfALivingPodIsRefusedAndNobodyNamed) {
  Write(OvsRecord(1, test::OvsVif(1)));
  vif::VifOpenVSwitch vif = test::OvsVif(2);
  vif.port_profile = test::OvsVif(1).port_profile;

  EXPECT_EQ(Refusal(OvsRecord(2, vif)),
            "port 450e5c61-dc7c-5f0d-84da-bc7052e8b541 (external_ids:iface-id) belongs to another "
            "pod of this node");
  EXPECT_EQ(Refusal(OvsRecord(3, test::OvsVif(3))), "");
}

TEST_F(IdentityTest, MacWithAddressOfALivingPodIsRefusedAndNobodyNamed) {
  Write(OvsRecord(1, test::OvsVif(1)));

  EXPECT_THAT(Refusal(OvsRecord(2, Double())),
              AllOf(HasSubstr("MAC fa:16:3e:80:d4:01 with address 10.1.0.1"),
                    Not(HasSubstr("pod-1")), Not(HasSubstr("container-1"))));
}

TEST_F(IdentityTest, MacOrAddressAloneIsNobodysIdentity) {
  Write(OvsRecord(1, test::OvsVif(1)));
  vif::VifOpenVSwitch same_mac = test::OvsVif(2);
  same_mac.address = test::OvsVif(1).address;
  vif::VifOpenVSwitch same_addresses = Double();
  same_addresses.address = test::OvsVif(3).address;

  EXPECT_EQ(Refusal(OvsRecord(2, same_mac)), "");
  same_addresses.id = test::OvsVif(3).id;
  EXPECT_EQ(Refusal(OvsRecord(3, same_addresses)), "");
}

TEST_F(IdentityTest, OtherNetworksMayHaveTheSameMacAndAddress) {
  Write(OvsRecord(1, test::OvsVif(1)));
  AttachmentRecord elsewhere = OvsRecord(2, Double());
  elsewhere.plugs.front().bridge = "br-other";
  Write(VlanRecord(3, 101));

  EXPECT_EQ(Refusal(elsewhere), "");
  EXPECT_EQ(Refusal(VlanRecord(4, 102)), "");
  EXPECT_NE(Refusal(VlanRecord(5, 101)), "");
}

TEST_F(IdentityTest, OlderSandboxOfThePodAndOneOfItsNameAreNoOthers) {
  Write(OvsRecord(1, test::OvsVif(1)));
  AttachmentRecord newer = OvsRecord(1, test::OvsVif(1));
  newer.key.container_id = "newer";
  AttachmentRecord replaced = newer;
  replaced.key.container_id = "replaced";
  replaced.pod_uid = "uid-of-the-successor";

  EXPECT_EQ(Refusal(newer), "");
  EXPECT_EQ(Refusal(replaced), "");
}

TEST_F(IdentityTest, PodsWithoutNamesAreDifferent) {
  AttachmentRecord first = OvsRecord(1, test::OvsVif(1));
  AttachmentRecord second = OvsRecord(2, Double());
  for (AttachmentRecord* record : {&first, &second}) {
    record->pod = "/";
    record->pod_uid = "";
  }
  Write(first);

  EXPECT_NE(Refusal(second), "");
}

TEST_F(IdentityTest, PodsThatAreGoneHaveNothing) {
  AttachmentRecord without_namespace = OvsRecord(1, test::OvsVif(1));
  without_namespace.netns_id.inode += 1;
  Write(without_namespace);
  AttachmentRecord of_another_boot = OvsRecord(3, test::OvsVif(1));
  of_another_boot.boot_id = "another";
  Write(of_another_boot);

  EXPECT_EQ(Refusal(OvsRecord(2, test::OvsVif(1))), "");
}

}  // namespace
}  // namespace kuryr::cni
