#include "binding/devices/vf.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "binding/devices/lent_vf.h"
#include "binding/devices/sysfs.h"
#include "binding/links/link_mark.h"
#include "binding/netlink/route_socket.h"
#include "tests/binding/fake_sysfs.h"

namespace kuryr::binding {
namespace {

using ::testing::HasSubstr;

vif::PciAddress Pci(const char* text) { return vif::PciAddress::Parse(text).value(); }

/// PF 0000:03:00.1 "ens1" with two VFs.
class VfTest : public ::testing::Test {
 protected:
  VfTest() {
    sysfs_.AddPf("0000:03:00.1", "ens1");
    sysfs_.AddVf("0000:03:00.1", 0, "0000:03:10.0", "ens1v0");
    sysfs_.AddVf("0000:03:00.1", 1, "0000:03:10.1", "ens1v1");
  }
  ~VfTest() override { std::filesystem::remove_all(sysfs_.root()); }

  [[nodiscard]] std::optional<Vf> Find(const char* address) const {
    return FindVf(sysfs_.root(), Pci(address));
  }
  [[nodiscard]] std::string RepresentorFailure(const std::string& expected = "") const {
    try {
      return "found " + FindRepresentor(sysfs_.root(), Find("0000:03:10.1").value(), expected);
    } catch (const std::system_error& e) {
      return e.what();
    }
  }

  static std::filesystem::path MakeFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "vf-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category());
    return name;
  }
  FakeSysfs sysfs_{MakeFolder()};
};

TEST_F(VfTest, IsFoundWithItsPhysicalFunction) {
  const auto vf = Find("0000:03:10.1");

  ASSERT_TRUE(vf);
  EXPECT_EQ(vf->link, "ens1v1");
  EXPECT_EQ(vf->driver, "iavf");
  EXPECT_EQ(vf->pf, "ens1");
  EXPECT_EQ(vf->pf_address, Pci("0000:03:00.1"));
  EXPECT_EQ(vf->number, 1U);
}

TEST_F(VfTest, NumberIsFoundAtOneDistanceAndOutOfOrder) {
  const std::vector<std::string> addresses = {"0000:05:00.0", "0000:05:00.2", "0000:05:00.4",
                                              "0000:05:01.1", "0000:04:1f.7"};
  sysfs_.AddPf("0000:07:00.0", "ens2");
  for (uint32_t number = 0; number < 5; ++number)
    sysfs_.AddVf("0000:07:00.0", static_cast<int>(number), addresses.at(number), "");

  for (uint32_t number = 0; number < 5; ++number)
    EXPECT_EQ(Find(addresses.at(number).c_str()).value().number, number) << addresses.at(number);
}

TEST_F(VfTest, WhatIsNoneIsNotFound) {
  EXPECT_FALSE(Find("0000:03:00.1")) << "a physical function";
  EXPECT_FALSE(Find("0000:00:1f.2")) << "not there";
  std::filesystem::remove(sysfs_.Device("0000:03:00.1") / "virtfn1");
  EXPECT_FALSE(Find("0000:03:10.1")) << "unknown to its physical function";
}

TEST_F(VfTest, LinksMayBeMissing) {
  sysfs_.SetLinkOf("0000:03:10.1", "");
  std::filesystem::remove(sysfs_.Device("0000:03:10.1") / "driver");
  sysfs_.SetLinkOf("0000:03:00.1", "");

  const auto vf = Find("0000:03:10.1");

  ASSERT_TRUE(vf);
  EXPECT_EQ(vf->link + vf->driver + vf->pf, "");
}

TEST_F(VfTest, RepresentorIsThePortOfTheSameSwitchNamedAfterTheVf) {
  sysfs_.SetAttribute("ens1", "phys_switch_id", "a1");
  sysfs_.SetAttribute("ens1", "phys_port_name", "p1");
  sysfs_.AddPort("0000:03:00.1", "a-other-switch", "b2", "pf1vf1");
  sysfs_.AddPort("0000:03:00.1", "b-other-pf", "a1", "pf0vf1");
  sysfs_.AddPort("0000:03:00.1", "c-other-vf", "a1", "pf1vf10");
  EXPECT_THAT(RepresentorFailure(), HasSubstr("port pf1vf1 of the switch of ens1"));

  sysfs_.AddPort("0000:03:00.1", "d-right", "a1", "pf1vf1");

  EXPECT_EQ(RepresentorFailure(), "found d-right");
  EXPECT_EQ(RepresentorFailure("c-other-vf"), "found d-right") << "whatever the VIF says";
  EXPECT_EQ(Find("0000:03:10.1")->pf, "ens1") << "the ports are links of the same device";
}

TEST_F(VfTest, OlderDriversNameThePortByTheNumberOnlyOrNotAtAll) {
  sysfs_.SetAttribute("ens1", "phys_switch_id", "a1");
  sysfs_.AddPort("0000:00:00.0", "rep0", "a1", "0");
  sysfs_.AddPort("0000:00:00.0", "rep1", "a1", "1");
  EXPECT_EQ(RepresentorFailure(), "found rep1");

  sysfs_.SetAttribute("rep1", "phys_port_name", "");
  EXPECT_EQ(RepresentorFailure("rep1"), "found rep1");
  EXPECT_THAT(RepresentorFailure(), HasSubstr("find the representor"));
  EXPECT_THAT(RepresentorFailure("ens1"), HasSubstr("find the representor"));
}

TEST_F(VfTest, CardWithoutSwitchHasNoRepresentors) {
  EXPECT_THAT(RepresentorFailure("ens1v0"), HasSubstr("not switchdev"));
}

TEST(LinkTest, ParentDeviceIsTheOneInSysfs) {
  RouteSocket socket;
  for (const std::string& name : Sysfs("/sys").Links()) {
    const auto link = socket.FindLink(name);
    if (!link) continue;
    std::error_code none;
    const auto device = std::filesystem::canonical("/sys/class/net/" + name + "/device", none);
    EXPECT_EQ(link->parent_device, none ? "" : device.filename().string()) << name;
  }
}

TEST(LentVfTest, IsFoundByTheNoteInItsMark) {
  const LinkMark mark{.attachment = {.network = "kuryr",
                                     .container_id = "c1",
                                     .ifname = "eth0",
                                     .pod = "default/pod-1",
                                     .pod_uid = "u1"},
                      .note = NoteOf(Pci("0000:03:10.1"))};

  const std::string alias = mark.ToString();

  EXPECT_EQ(alias, "kuryr-cni kuryr c1 eth0 u1 vf=0000:03:10.1 default/pod-1");
  EXPECT_EQ(NotedVf({.alias = alias}), Pci("0000:03:10.1"));
  EXPECT_EQ(LinkMark::Parse(alias)->attachment.pod, "default/pod-1");
}

TEST(LentVfTest, OtherNotesAreNone) {
  const auto noted = [](const std::string& note) {
    return NotedVf({.alias = "kuryr-cni kuryr c1 eth0 u1 " + note + " a/b"});
  };
  for (const char* note : {"", "vf=", "vf=,,,,,", "vf=../x", "vf=0000:03:10", "other=1"})
    EXPECT_FALSE(noted(note)) << note;
  EXPECT_EQ(noted("vf=0000:03:10.1,9000,02:00:00:00:00:01,-,-,ens1v1"), Pci("0000:03:10.1"))
      << "of an earlier version";
}

TEST(LentVfTest, OnlyDifferencesAreAskedOfThePf) {
  const Vf vf{.pf = "ens1"};
  const MacAddress mac = MacAddress::Parse("02:00:00:00:00:02").value();
  const VfSettings wanted{.mac = mac, .vlan = 205};

  EXPECT_EQ(DifferenceOf(wanted, wanted, vf), VfSettings());
  EXPECT_EQ(DifferenceOf(VfSettings{.mac = mac, .vlan = 0}, wanted, vf), (VfSettings{.vlan = 205}));
  EXPECT_EQ(DifferenceOf(VfSettings{.mac = MacAddress(), .vlan = 205}, wanted, vf),
            (VfSettings{.mac = mac}));
  EXPECT_EQ(DifferenceOf(std::nullopt, {.mac = mac, .vlan = 0}, vf), VfSettings());
  EXPECT_THROW((void)DifferenceOf(std::nullopt, wanted, vf), std::system_error);
}

}  // namespace
}  // namespace kuryr::binding
