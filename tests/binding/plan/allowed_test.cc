#include "binding/plan/allowed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "binding/plan/attachment.h"

namespace kuryr::binding {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Refusal(const std::function<void()>& ask) {
  try {
    ask();
  } catch (const UnsupportedVif& e) {
    return e.what();
  }
  return "";
}
std::string Driver(const BindingConfig& config, const std::string& name) {
  return Refusal([&] { RequireAllowedDriver(config, name); });
}
std::string Bridge(const BindingConfig& config, const std::string& name, BridgeKind kind) {
  return Refusal([&] { RequireAllowedBridge(config, name, kind); });
}
std::string Missing(const BindingConfig& config, const std::string& name, BridgeKind kind) {
  return Refusal([&] { RequireNamedBridge(config, name, kind); });
}

constexpr BridgeKind kOvs = BridgeKind::kOpenVSwitch;
constexpr BridgeKind kKernel = BridgeKind::kKernel;

TEST(PermissionTest, NestedIsAllowedWhereItsLinkIsNamed) {
  EXPECT_THAT(Driver({}, "nested"), HasSubstr("\"drivers = ovs, hybrid, nested\" allows it"));
  EXPECT_EQ(Driver({.link_iface = "eth1"}, "nested"), "");
}

TEST(PermissionTest, PatternsAllowBridgesThatAreThereAndMakeNone) {
  const BindingConfig config{.bridges = {"brq*", "br-ex", "br[0-9]"}};
  for (const char* name : {"brq", "brq0a1b2c3d-4e", "br-ex", "br7", "brq*"})
    EXPECT_EQ(Bridge(config, name, kKernel), "") << name;
  for (const char* name : {"br-int", "br-ext", "br77", "docker0"})
    EXPECT_THAT(Bridge(config, name, kKernel), HasSubstr("is not among [binding] bridges")) << name;

  EXPECT_EQ(Missing(config, "br-ex", kOvs), "");
  EXPECT_EQ(Missing(config, "br-ex", kKernel), "");
  for (const char* name : {"brq0a1b2c3d-4e", "brq*", "br7"}) {
    EXPECT_EQ(Missing(config, name, kKernel), "bridge \"" + std::string(name) +
                                                  "\" is missing, and a pattern in [binding] "
                                                  "bridges makes none: it is made once it stands "
                                                  "there in full");
  }
}

TEST(PermissionTest, HostInterfacesAreTapsOrWhatIsNamed) {
  const auto refusal = [](const BindingConfig& config, const std::string& name) {
    return Refusal([&] { RequireAllowedHostInterface(config, name); });
  };
  EXPECT_EQ(refusal({}, "tap450e5c61-dc"), "");
  for (const char* name : {"wg1", "eth7", "cni0", "atap0", "t", "tap"}) {
    EXPECT_EQ(refusal({.host_interfaces = {"tap?*", "nic*"}}, name),
              "host interface \"" + std::string(name) +
                  "\" is not among [binding] host_interfaces of this node: \"host_interfaces = "
                  "tap?*, nic*, " +
                  name + "\" allows it");
  }
  EXPECT_EQ(refusal({.host_interfaces = {"nic*"}}, "nic0"), "");
  EXPECT_EQ(refusal({.named = {.host_interfaces = {"veth0a"}}}, "veth0a"), "");
  EXPECT_NE(refusal({.named = {.host_interfaces = {"veth*"}}}, "veth0a"), "") << "no pattern";
}

TEST(PermissionTest, OvsBridgeIsOpenVSwitchsAlone) {
  const BindingConfig config{.ovs_bridge = "br-data"};

  EXPECT_EQ(Bridge(config, "br-data", kOvs), "");
  EXPECT_EQ(Missing(config, "br-data", kOvs), "");
  EXPECT_NE(Bridge(config, "br-data", kKernel), "");
  EXPECT_NE(Missing(config, "br-data", kKernel), "");
  EXPECT_NE(Bridge(config, "br-int", kOvs), "");
}

TEST(PermissionTest, WhatIsNamedElsewhereIsAllowedBeside) {
  const BindingConfig config{
      .bridges = {"br-ex"},
      .named = {.drivers = {"bridge"}, .ovs_bridges = {"br-blue"}, .kernel_bridges = {"br-lan"}}};

  EXPECT_THAT(Driver(config, "bridge"), IsEmpty());
  EXPECT_THAT(Bridge(config, "br-blue", kOvs) + Missing(config, "br-blue", kOvs), IsEmpty());
  EXPECT_THAT(Bridge(config, "br-lan", kKernel) + Missing(config, "br-lan", kKernel), IsEmpty());
  EXPECT_NE(Bridge(config, "br-lan", kOvs), "");
  EXPECT_NE(Bridge(config, "br-blue", kKernel), "");
}

}  // namespace
}  // namespace kuryr::binding
