#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "binding/drivers/binding.h"
#include "tests/binding/drivers/vhostuser_fixture.h"

// The driver does not touch what a hostile VIF or a forged row names.

namespace kuryr::binding {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(VhostUserDriverTest, NamesDoNotLeaveTheMountPoint) {
  fs::create_directory(kMountPoint + std::string("/container-1-.."));
  const vif::VifVHostUser vif = Vif(vif::VHostUserMode::kServer);
  const std::string before = State();

  EXPECT_THROW(driver_->Connect(
                   {driver_->Plan({"../../victim", true, vif}), PodAttachment(1), *pod_, Soon()}),
               std::system_error);

  EXPECT_EQ(State(), before);
  EXPECT_FALSE(fs::exists("/run/victim"));
}

TEST_F(VhostUserDriverTest, SocketsThatAPortsExternalIdsNameElsewhereAreLeftAlone) {
  fs::create_directory("/run/other");
  const std::vector<std::pair<std::string, std::string>> attacks = {
      {"vhuvictim", "/run/other/vhuvictim"},
      {"../other/vhuvictim", "/run/vhostuser/../other/vhuvictim"},
      {"../other/vhuvictim", "/run/vhostuser/vhuvictim"},
      {"victim", "/run/vhostuser/victim"}};
  // Whoever made them does not listen just now.
  for (const char* path : {"/run/other/vhuvictim", "/run/vhostuser/victim"}) ListenAt(path).reset();
  Vsctl({"add-br", "br-int", "--", "add-port", "br-int", "attacker"});
  for (const auto& [name, path] : attacks) {
    Vsctl({"set", "Interface", "attacker", "external_ids:kuryr-container-id=container-1",
           "external_ids:kuryr-network=kuryr", "external_ids:kuryr-ifname=eth0",
           "external_ids:kuryr-driver=vhostuser",
           "external_ids:kuryr-host-interface=\"" + name + "\"",
           "external_ids:kuryr-device=\"" + path + "\""});
    const auto plugs = Binding(Config()).FindPlugs(PodAttachment(1), Soon());
    ASSERT_EQ(plugs.size(), 1U);

    driver_->Disconnect(plugs[0], PodAttachment(1), Soon());

    EXPECT_TRUE(fs::exists("/run/other/vhuvictim")) << name << " at " << path;
    EXPECT_TRUE(fs::exists("/run/vhostuser/victim")) << name << " at " << path;
  }
}

TEST_F(VhostUserDriverTest, PortOfAnotherIsLeftAlone) {
  Vsctl({"add-br", "br-int", "--", "add-port", "br-int", kNeutronPort, "--", "set", "Interface",
         kNeutronPort, "type=dpdkvhostuserclient", "external_ids:iface-id=a-virtual-machine"});
  const UniqueFd machine = ListenAt(SocketPath());
  const std::string before = State();
  const vif::VifVHostUser vif = Vif(vif::VHostUserMode::kServer);

  EXPECT_THAT(Failure(vif), AllOf(HasSubstr(kNeutronPort), Not(HasSubstr("a-virtual-machine"))));
  EXPECT_EQ(State(), before);
  Disconnect(vif);
  EXPECT_EQ(State(), before);
}

TEST_F(VhostUserDriverTest, SocketOfAnApplicationWithoutAPortIsRefusedAndLeftAlone) {
  const UniqueFd application = ListenAt(SocketPath());
  const std::string before = State();
  for (const auto mode : {vif::VHostUserMode::kClient, vif::VHostUserMode::kServer}) {
    const vif::VifVHostUser vif = Vif(mode);

    EXPECT_THAT(Failure(vif),
                AllOf(HasSubstr(SocketPath().string()), HasSubstr("somebody listens on it")));
    EXPECT_EQ(State(), before);
    Disconnect(vif);
    EXPECT_EQ(State(), before) << "after the DEL that follows";
  }
}

TEST_F(VhostUserDriverTest, WhatStandsAtThePathOfAnothersPortIsLeftAlone) {
  Vsctl({"add-br", "br-int", "--", "add-port", "br-int", kNeutronPort, "--", "set", "Interface",
         kNeutronPort, "type=dpdkvhostuserclient", "external_ids:iface-id=a-virtual-machine"});
  std::ofstream(SocketPath()) << "text";
  const std::string before = State();

  EXPECT_THAT(Failure(Vif(vif::VHostUserMode::kServer)), HasSubstr(kNeutronPort));

  EXPECT_EQ(State(), before);
}

TEST_F(VhostUserDriverTest, PortOfALivingPodOutlivesAnAnnotationWithItsNeutronPort) {
  for (const auto& [type, mode] : {std::pair("dpdkvhostuserclient", vif::VHostUserMode::kServer),
                                   std::pair("dpdkvhostuser", vif::VHostUserMode::kClient)}) {
    Vsctl({"--may-exist", "add-br", "br-int", "--", "add-port", "br-int", kNeutronPort, "--", "set",
           "Interface", kNeutronPort, std::string("type=") + type,
           "external_ids:kuryr-container-id=victim", "external_ids:kuryr-network=kuryr",
           "external_ids:kuryr-ifname=eth0", "external_ids:vm-uuid=victims-uid",
           "external_ids:iface-id=" + *Vif(mode).id});
    const UniqueFd application = ListenAt(SocketPath());
    const std::string before = State();

    EXPECT_THAT(Failure(Vif(mode)), AllOf(HasSubstr(kNeutronPort), Not(HasSubstr("victim"))));
    EXPECT_EQ(State(), before);
    Disconnect(Vif(mode));
    EXPECT_EQ(State(), before) << "after the DEL that follows";
    Vsctl({"del-port", kNeutronPort});
    fs::remove(SocketPath());
  }
}

}  // namespace
}  // namespace kuryr::binding
