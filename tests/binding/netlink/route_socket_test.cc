#include <thread>
#include <vector>

#include "tests/binding/netlink/route_socket_fixture.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(RouteSocketTest, CreateVethBornInPodNamespace) {
  const Netns pod = MakePodNetns();

  host_.CreateVeth({.name = "tap0",
                    .peer_name = "eth0",
                    .peer_netns_fd = pod.fd(),
                    .peer_mac = kMac,
                    .mtu = 1442});

  const json host_end = Shown(Netns::Current(), {"link", "show", "tap0"});
  EXPECT_EQ(host_end.at("linkinfo").at("info_kind"), "veth");
  EXPECT_EQ(host_end.at("mtu"), 1442);
  EXPECT_NE(host_end.at("address"), kMac.ToString());
  const json pod_end = Shown(pod, {"link", "show", "eth0"});
  EXPECT_EQ(pod_end.at("address"), kMac.ToString());
  EXPECT_EQ(pod_end.at("mtu"), 1442);
  EXPECT_EQ(pod_end.at("ifindex"), host_end.at("link_index"));
  EXPECT_EQ(LinkCount(pod), 2U) << "lo and eth0";
}

TEST_F(RouteSocketTest, CreateVethLeavesMtuAndMacToTheKernel) {
  const Netns pod = MakePodNetns();

  host_.CreateVeth({.name = "tap0", .peer_name = "eth0", .peer_netns_fd = pod.fd()});

  EXPECT_EQ(Shown(pod, {"link", "show", "eth0"}).at("mtu"), 1500);
}

TEST_F(RouteSocketTest, CreateVethWithoutNamespaceKeepsBothEndsHere) {
  host_.CreateVeth({.name = "qvb0", .peer_name = "qvo0"});

  EXPECT_EQ(Shown(Netns::Current(), {"link", "show", "qvb0"}).at("link"), "qvo0");
}

TEST_F(RouteSocketTest, GlanceSeesWhatARequestDoes) {
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1", .mtu = 1442});
  for (const char* name : {"tap0", "lo"}) {
    const Link link = host_.FindLink(name).value();
    const Link known = {
        .index = link.index, .name = name, .mac = link.mac, .mtu = link.mtu, .up = link.up};

    EXPECT_EQ(host_.GlanceAt(name), known);
    host_.SetUp(link);
    EXPECT_TRUE(host_.GlanceAt(name)->up);
  }
  EXPECT_FALSE(host_.GlanceAt("tap2"));
  EXPECT_FALSE(host_.GlanceAt("tap0" + std::string(IFNAMSIZ, '0')));
}

TEST_F(RouteSocketTest, LinksAreBornInTheirGroup) {
  const Netns pod = MakePodNetns();
  constexpr uint32_t kGroup = 0xfedcba98;
  host_.CreateVeth({.name = "tap0", .peer_name = "eth0", .peer_netns_fd = pod.fd(), .group = 7});
  host_.CreateVeth({.name = "qvb0", .peer_name = "qvo0", .group = kGroup});
  host_.CreateHub("qbr0", kGroup);
  host_.CreateBridgeDown("br0", std::nullopt, kGroup);
  RouteSocket inside = RouteSocket::OpenIn(pod);
  host_.CreateMacvlan({.name = "mv0",
                       .parent = host_.FindLink("tap0").value(),
                       .netns_fd = pod.fd(),
                       .group = kGroup});

  EXPECT_EQ(host_.FindLink("tap0")->group, 7U);
  EXPECT_EQ(inside.FindLink("eth0")->group, 7U);
  EXPECT_EQ(inside.FindLink("mv0")->group, kGroup);
  for (const char* name : {"qvb0", "qvo0", "qbr0", "br0"})
    EXPECT_EQ(host_.FindLink(name)->group, kGroup) << name;
  EXPECT_EQ(host_.FindLink("lo")->group, 0U);
}

TEST_F(RouteSocketTest, NameTakenIsFileExists) {
  const Netns pod = MakePlug();
  const VethPair same_name{.name = "tap0", .peer_name = "eth1", .peer_netns_fd = pod.fd()};
  const VethPair same_peer_name{.name = "tap1", .peer_name = "eth0", .peer_netns_fd = pod.fd()};

  const auto here = ErrorOf([&] { host_.CreateVeth(same_name); });
  const auto there = ErrorOf([&] { host_.CreateVeth(same_peer_name); });

  EXPECT_EQ(here.code(), std::errc::file_exists);
  EXPECT_THAT(here.what(), HasSubstr("create veth tap0 with peer eth1"));
  EXPECT_EQ(there.code(), std::errc::file_exists);
  EXPECT_THAT(there.what(), HasSubstr("create veth tap1 with peer eth0"));
  EXPECT_EQ(LinkCount(pod), 2U);
  EXPECT_EQ(LinkCount(Netns::Current()), 2U);
}

TEST_F(RouteSocketTest, NamesAreTakenAsTheyAreOrRefused) {
  for (const char* name : {"", "tap%d", "sixteen-letters-", "a/b", "a b", ".."}) {
    const auto error = ErrorOf([&] { host_.CreateVeth({.name = name, .peer_name = "peer"}); });
    EXPECT_EQ(error.code(), std::errc::invalid_argument) << name;
    EXPECT_THAT(error.what(), HasSubstr(name));
    EXPECT_THROW(host_.CreateVeth({.name = "tap0", .peer_name = name}), std::system_error);
  }
  EXPECT_EQ(LinkCount(Netns::Current()), 1U);

  host_.CreateVeth({.name = "fifteen-letters", .peer_name = "peer"});

  EXPECT_TRUE(host_.FindLink("fifteen-letters"));
}

TEST_F(RouteSocketTest, MtuTheKernelRefusesIsAnErrorThatNamesBothEnds) {
  const auto error =
      ErrorOf([&] { host_.CreateVeth({.name = "tap0", .peer_name = "tap1", .mtu = 10}); });

  EXPECT_EQ(error.code(), std::errc::invalid_argument);
  EXPECT_THAT(error.what(), HasSubstr("create veth tap0 with peer tap1"));
  EXPECT_EQ(host_.FindLink("tap0"), std::nullopt);
}

TEST_F(RouteSocketTest, CreateMacvlanBornInPodNamespace) {
  const Netns pod = MakePlug();
  const Link parent = host_.FindLink("tap0").value();

  host_.CreateMacvlan(
      {.name = "mv0", .parent = parent, .netns_fd = pod.fd(), .mac = kMac, .mtu = 1400});

  EXPECT_EQ(host_.FindLink("mv0"), std::nullopt);
  const json shown = Shown(pod, {"link", "show", "mv0"});
  EXPECT_EQ(shown.at("linkinfo").at("info_data").at("mode"), "bridge");
  EXPECT_EQ(shown.at("address"), kMac.ToString());
  EXPECT_EQ(shown.at("mtu"), 1400);
  EXPECT_EQ(RouteSocket::OpenIn(pod).FindLink("mv0")->lower, parent.index);
}

TEST_F(RouteSocketTest, CreateMacvlanErrorNamesBothLinks) {
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1"});
  const Link parent = host_.FindLink("tap0").value();

  const auto error = ErrorOf([&] { host_.CreateMacvlan({.name = "tap1", .parent = parent}); });

  EXPECT_EQ(error.code(), std::errc::file_exists);
  EXPECT_THAT(error.what(), HasSubstr("create macvlan tap1 on tap0"));
}

TEST_F(RouteSocketTest, CreateBridgeDownHasAMacThatStays) {
  EXPECT_TRUE(host_.CreateBridgeDown("br0", MacAddress::Parse("fe:16:3e:01:02:03")));
  EXPECT_FALSE(host_.CreateBridgeDown("br0", kMac));
  const Link bridge = host_.FindLink("br0").value();
  EXPECT_FALSE(bridge.up);

  // A bridge without a MAC of its own takes the lowest of its ports'.
  host_.CreateVeth(
      {.name = "tap1", .peer_name = "tap0", .peer_mac = MacAddress::Parse("02:00:00:00:00:01")});
  RunOnHost({"ip", "link", "set", "tap0", "master", "br0"});

  EXPECT_EQ(host_.FindLink("br0")->mac.ToString(), "fe:16:3e:01:02:03");
}

TEST_F(RouteSocketTest, ChangedMtuOfABridgeHoldsWhenPortsComeAndGo) {
  host_.CreateBridgeDown("br0", std::nullopt);
  const Link bridge = host_.FindLink("br0").value();

  host_.ChangeLink(bridge, {.mtu = 1400, .up = true});

  EXPECT_TRUE(host_.FindLink("br0")->up);
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1", .mtu = 1300, .master = bridge.index});
  EXPECT_EQ(host_.FindLink("br0")->mtu, 1400U);
  host_.DeleteLink("tap0");
  EXPECT_EQ(host_.FindLink("br0")->mtu, 1400U);
}

TEST_F(RouteSocketTest, SetHairpinOfWhatIsNoPortIsAnErrorThatNamesIt) {
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1"});

  const auto error = ErrorOf([&] { host_.SetHairpin(host_.FindLink("tap0").value()); });

  EXPECT_THAT(error.what(), HasSubstr("set bridge port tap0 to hairpin mode"));
}

TEST_F(RouteSocketTest, CreateVethAsPortOfABridge) {
  host_.CreateBridgeDown("br0", {});
  const Link bridge = host_.FindLink("br0").value();

  host_.CreateVeth({.name = "tap0", .peer_name = "tap1", .master = bridge.index});

  EXPECT_EQ(host_.FindLink("tap0")->master, bridge.index);
  EXPECT_EQ(host_.FindLink("tap0")->lower, host_.FindLink("tap1")->index);
  EXPECT_EQ(host_.FindLink("tap1")->master, 0);
}

TEST_F(RouteSocketTest, FindLinkByIndex) {
  const Link loopback = host_.FindLink("lo").value();

  EXPECT_EQ(host_.FindLink(loopback.index), loopback);
  EXPECT_EQ(host_.FindLink(loopback.index + 4711), std::nullopt);
  EXPECT_EQ(host_.FindLink(0), std::nullopt);
}

TEST_F(RouteSocketTest, FindOutputLinkFollowsTheRoutes) {
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1"});
  const Link link = host_.FindLink("tap0").value();
  host_.SetUp(host_.FindLink("tap1").value());
  host_.SetUp(link);
  EXPECT_EQ(host_.FindOutputLink(Ip("10.0.0.9")), std::nullopt);
  EXPECT_EQ(host_.FindOutputLink(Ip("fd00::9")), std::nullopt);

  host_.AddAddress(link, Net("10.0.0.1/24"));
  host_.AddAddress(link, Net("fd00::1/64"));

  EXPECT_EQ(host_.FindOutputLink(Ip("10.0.0.9")), link.index);
  EXPECT_EQ(host_.FindOutputLink(Ip("fd00::9")), link.index);
  EXPECT_EQ(host_.FindOutputLink(Ip("10.0.0.1")), host_.FindLink("lo")->index);
}

TEST_F(RouteSocketTest, ForgottenNeighbourIsGone) {
  const Netns pod = MakePluggedPod();
  const Link link = host_.FindLink("tap0").value();
  host_.AddAddress(link, Net("10.0.0.1/24"));
  RunOnHost({"ip", "neighbour", "add", "10.0.0.2", "dev", "tap0", "nud", "stale", "lladdr",
             "02:00:00:00:00:02"});

  EXPECT_TRUE(host_.ForgetNeighbour(link.index, Ip("10.0.0.2")));

  EXPECT_FALSE(host_.ForgetNeighbour(link.index, Ip("10.0.0.2")));
  EXPECT_EQ(RunOnHost({"ip", "neighbour", "show", "10.0.0.2"}), "");
}

TEST_F(RouteSocketTest, SetNameAliasAndUpDoesAllThree) {
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1"});
  const Link link = host_.FindLink("tap0").value();

  host_.SetNameAliasAndUp(link, "eth0", "of a pod");

  EXPECT_EQ(host_.FindLink("tap0"), std::nullopt);
  const Link named = host_.FindLink("eth0").value();
  EXPECT_EQ(named.index, link.index);
  EXPECT_EQ(named.alias, "of a pod");
  EXPECT_TRUE(named.up);
  EXPECT_THROW(host_.SetNameAliasAndUp(host_.FindLink("tap1").value(), "eth%d", ""),
               std::system_error);
}

TEST_F(RouteSocketTest, FindLinkTellsWhatTheKernelHas) {
  const Netns pod = MakePluggedPod();
  RunIn(pod, {"ip", "link", "set", "eth0", "alias", "of a pod", "mtu", "1300"});

  const Link link = RouteSocket::OpenIn(pod).FindLink("eth0").value();

  EXPECT_EQ(link.index, Shown(pod, {"link", "show", "eth0"}).at("ifindex"));
  EXPECT_EQ(link.name, "eth0");
  EXPECT_EQ(link.kind, "veth");
  EXPECT_EQ(link.alias, "of a pod");
  EXPECT_EQ(link.mac, kMac);
  EXPECT_EQ(link.mtu, 1300U);
  EXPECT_TRUE(link.up);
  EXPECT_TRUE(link.has_carrier);
  RunOnHost({"ip", "link", "set", "tap0", "down"});
  EXPECT_FALSE(RouteSocket::OpenIn(pod).FindLink("eth0")->has_carrier);
  EXPECT_EQ(RouteSocket::OpenIn(pod).FindLink("lo")->up, false);
}

TEST_F(RouteSocketTest, FindLinkOfNothingIsEmpty) {
  EXPECT_EQ(host_.FindLink("tap0"), std::nullopt);
  EXPECT_TRUE(host_.FindLink("lo"));
}

TEST_F(RouteSocketTest, SetAliasAndUpDoesBoth) {
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1"});
  const std::string alias(255, 'a');

  host_.SetAliasAndUp(host_.FindLink("tap0").value(), alias);

  const json shown = Shown(Netns::Current(), {"link", "show", "tap0"});
  EXPECT_EQ(shown.at("ifalias"), alias);
  EXPECT_THAT(shown.at("flags"), ::testing::Contains("UP"));
}

TEST_F(RouteSocketTest, AliasTooLongIsAnErrorThatNamesTheLink) {
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1"});
  const Link link = host_.FindLink("tap0").value();

  const auto error = ErrorOf([&] { host_.SetAliasAndUp(link, std::string(256, 'a')); });

  EXPECT_THAT(error.what(), HasSubstr("tap0"));
  EXPECT_EQ(host_.FindLink("tap0"), link);
}

TEST_F(RouteSocketTest, DeleteLinkIsIdempotent) {
  const Netns pod = MakePlug();

  EXPECT_TRUE(host_.DeleteLink("tap0"));
  EXPECT_FALSE(host_.DeleteLink("tap0"));

  EXPECT_EQ(LinkCount(Netns::Current()), 1U);
  EXPECT_EQ(LinkCount(pod), 1U);
}

TEST_F(RouteSocketTest, DeleteLinkThatCannotGoIsAnErrorThatNamesIt) {
  const auto error = ErrorOf([&] { host_.DeleteLink("lo"); });

  EXPECT_EQ(error.code(), std::errc::operation_not_supported);
  EXPECT_THAT(error.what(), HasSubstr("delete link lo"));
}

TEST_F(RouteSocketTest, SocketStaysInItsNamespace) {
  const NetnsId before = Netns::Current().id();
  const Netns pod = MakePlug();

  RouteSocket inside = RouteSocket::OpenIn(pod);

  EXPECT_EQ(Netns::Current().id(), before);
  EXPECT_TRUE(inside.FindLink("eth0"));
  EXPECT_EQ(inside.FindLink("tap0"), std::nullopt);
  EXPECT_EQ(host_.FindLink("eth0"), std::nullopt);
}

TEST_F(RouteSocketTest, SocketSurvivesARefusal) {
  EXPECT_THROW(host_.DeleteLink("lo"), std::system_error);

  EXPECT_EQ(host_.FindLink("lo")->name, "lo");
}

TEST_F(RouteSocketTest, ThreadsWorkSideBySide) {
  constexpr int kThreads = 8;
  constexpr int kPods = 5;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);

  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([thread] {
      for (int pod = 0; pod < kPods; ++pod) {
        const std::string suffix = std::to_string(thread) + "." + std::to_string(pod);
        RouteSocket socket;
        socket.CreateVeth({.name = "tap" + suffix, .peer_name = "eth" + suffix});
        socket.SetUp(socket.FindLink("eth" + suffix).value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(LinkCount(Netns::Current()), 1U + 2 * kThreads * kPods);
}

}  // namespace
}  // namespace kuryr::binding
