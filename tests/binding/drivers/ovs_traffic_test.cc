// TCP, UDP and SCTP with data: between pods they pass, from a pod to the node they do not.
#include <sys/socket.h>

#include "binding/drivers/drivers.h"
#include "tests/binding/differences.h"
#include "tests/binding/drivers/ovs_driver_fixture.h"
#include "tests/binding/vifs.h"
#include "tests/support/traffic.h"

namespace kuryr::binding {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kTapOfPod1 = "tap450e5c61-1";

class OvsTrafficTest : public OvsDriverTest {
 protected:
  void SetUp() override {
    OvsDriverTest::SetUp();
    MakeBridge();
    hybrid_ = NewHybridDriver({Config(), shared_});
    other_.emplace(MakePodNetns());
  }
  void ConnectHybrid(int n, const Netns& pod) {
    const vif::Vif vif = test::HybridVif(n);
    hybrid_->Connect({hybrid_->Plan({"eth0", true, vif}), PodAttachment(n), pod, Soon()});
  }
  void ExpectTrafficBothWays() {
    for (const char* address : {"10.1.0.2", "fd00::2"})
      ASSERT_NO_THROW(test::ExpectTraffic(*pod_, *other_, address)) << address;
    for (const char* address : {"10.1.0.1", "fd00::1"})
      ASSERT_NO_THROW(test::ExpectTraffic(*other_, *pod_, address)) << address;
  }
  std::string CheckPod() {
    return FirstOf(driver_->Check({driver_->Plan({"eth0", true, test::OvsVif(1)}), PodAttachment(1),
                                   *pod_, Soon()}))
        .value_or("");
  }
  /// That the node's kernel has got, of ICMP and ICMPv6.
  static size_t CountEchoRequests() {
    const nlohmann::json counters = ParseJson(RunOnHost({"nstat", "-asj"})).at("kernel");
    return counters.value("IcmpInEchos", size_t{0}) + counters.value("Icmp6InEchos", size_t{0});
  }
  static bool IsUserspace() { return test::PrivateOvs::datapath_type() == "netdev"; }

  std::unique_ptr<Driver> hybrid_;
  std::optional<Netns> other_;
};

TEST_F(OvsTrafficTest, TcpAndUdpPassBetweenPods) {
  ConnectPod(1, *pod_);
  ConnectPod(2, *other_);

  ExpectTrafficBothWays();
}

TEST_F(OvsTrafficTest, TcpAndUdpPassBetweenHybridPods) {
  ConnectHybrid(1, *pod_);
  ConnectHybrid(2, *other_);

  ExpectTrafficBothWays();
}

TEST_F(OvsTrafficTest, TcpAndUdpPassBetweenAHybridPodAndAnother) {
  ConnectHybrid(1, *pod_);
  ConnectPod(2, *other_);

  ExpectTrafficBothWays();
}

TEST_F(OvsTrafficTest, SctpPassesBetweenPods) {
  if (!test::HasSctp()) GTEST_SKIP() << "the kernel has no SCTP";
  ConnectPod(1, *pod_);
  ConnectPod(2, *other_);

  for (const char* address : {"10.1.0.2", "fd00::2"})
    EXPECT_NO_THROW(test::ExpectEcho(*pod_, *other_, address, IPPROTO_SCTP, 20'000));
}

TEST_F(OvsTrafficTest, BridgeThatConnectMakesHasTheSame) {
  ovs_->Vsctl({"del-br", "br-int"});
  ConnectPod(1, *pod_);
  ConnectPod(2, *other_);

  ExpectTrafficBothWays();
}

TEST_F(OvsTrafficTest, ChecksumsAreMadeWhereTheDatapathMakesNone) {
  ConnectPod(1, *pod_);
  RouteSocket inside = RouteSocket::OpenIn(*pod_);

  EXPECT_EQ(inside.LeavesChecksums(*inside.FindLink("eth0")), !IsUserspace());
  EXPECT_THAT(RunIn(*pod_, {"ethtool", "-k", "eth0"}),
              HasSubstr(IsUserspace() ? "tx-tcp-segmentation: off" : "tx-tcp-segmentation: on"));
}

TEST_F(OvsTrafficTest, CheckNamesChecksumsThatAreLeftToACard) {
  ConnectPod(1, *pod_);
  EXPECT_THAT(CheckPod(), IsEmpty());

  RunIn(*pod_, {"ethtool", "-K", "eth0", "tx", "on"});

  EXPECT_EQ(CheckPod().find("eth0 has tx-checksumming on") != std::string::npos, IsUserspace());
}

TEST_F(OvsTrafficTest, CheckNamesChecksumsOfAHybridPort) {
  ConnectHybrid(1, *pod_);
  const vif::Vif vif = test::HybridVif(1);
  const auto check = [&] {
    return FirstOf(hybrid_->Check(
                       {hybrid_->Plan({"eth0", true, vif}), PodAttachment(1), *pod_, Soon()}))
        .value_or("");
  };
  EXPECT_THAT(check(), IsEmpty());

  RunOnHost({"ethtool", "-K", "qvb450e5c61-1", "tx", "on"});

  EXPECT_EQ(check().find("qvb450e5c61-1 has tx-checksumming on") != std::string::npos,
            IsUserspace());
}

TEST_F(OvsTrafficTest, HostEndHasNoIpv6Address) {
  ConnectPod(1, *pod_);
  ConnectHybrid(2, *other_);

  RouteSocket host;
  for (const char* name :
       {kTapOfPod1, "tap450e5c61-2", "qbr450e5c61-2", "qvb450e5c61-2", "qvo450e5c61-2"})
    EXPECT_THAT(host.AddressesOf(host.FindLink(name).value()), IsEmpty()) << name;
}

TEST_F(OvsTrafficTest, PodReachesNothingOfTheNodeByItsHostEnd) {
  for (const char* address : {"fd09::9/128", "10.9.0.9/32"})
    RunOnHost({"ip", "address", "add", address, "dev", "lo"});
  RunOnHost({"sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0"});
  ConnectPod(1, *pod_);
  const MacAddress mac = RouteSocket().FindLink(kTapOfPod1)->mac;

  // All nodes, by multicast; what answers beside the pod itself is the node.
  const std::string answers = RunIn(*pod_, {"ping", "-c2", "-i0.2", "-W1", "ff02::1%eth0"});
  EXPECT_THAT(answers, ::testing::Not(HasSubstr("DUP!")));
  // Any address of the node, by the host end's MAC.
  for (const char* gateway : {"fd00::fe", "10.1.0.253"})
    RunIn(*pod_, {"ip", "neighbour", "add", gateway, "lladdr", mac.ToString(), "dev", "eth0"});
  RunIn(*pod_, {"ip", "route", "add", "fd09::9", "via", "fd00::fe"});
  RunIn(*pod_, {"ip", "route", "add", "10.9.0.9", "via", "10.1.0.253"});
  const size_t before = CountEchoRequests();
  for (const char* address : {"fd09::9", "10.9.0.9"})
    RunIn(*pod_, {"sh", "-c", std::string("! ping -c1 -W1 ") + address});
  EXPECT_EQ(CountEchoRequests(), before);
  // And who asks for the node's MAC by its address gets none.
  RunIn(*pod_, {"ip", "route", "replace", "10.9.0.9", "dev", "eth0"});
  RunIn(*pod_, {"sh", "-c", "! ping -c1 -W1 10.9.0.9"});
  EXPECT_THAT(RunIn(*pod_, {"ip", "neighbour", "show", "10.9.0.9"}),
              ::testing::Not(HasSubstr("lladdr")));
}

}  // namespace
}  // namespace kuryr::binding
