#include "binding/netlink/link_remover.h"

#include <net/if.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/binding/netlink/route_socket_fixture.h"

namespace kuryr::binding {
namespace {

using ::testing::HasSubstr;

class LinkRemoverTest : public RouteSocketTest {
 protected:
  Link MakeVeth(const std::string& name) {
    host_.CreateVeth({.name = name, .peer_name = name + "-peer"});
    return host_.FindLink(name).value();
  }

  LinkRemover remover_;
};

TEST_F(LinkRemoverTest, NothingOfTheOrderStays) {
  const std::vector<Link> links = {MakeVeth("tap0"), MakeVeth("tap1")};
  MakeVeth("tap2");

  remover_.Remove(host_, links);

  EXPECT_FALSE(host_.FindLink("tap0"));
  EXPECT_FALSE(host_.FindLink("tap1"));
  EXPECT_TRUE(host_.FindLink("tap2"));
}

// The kernel has not freed it by then.
TEST_F(LinkRemoverTest, NothingLeadsToALinkThatWasRemovedAndItsNameIsFree) {
  const Netns pod = MakePodNetns();
  for (int round = 0; round < 10; ++round) {
    host_.CreateVeth({.name = "tap0", .peer_name = "eth0", .peer_netns_fd = pod.fd()});
    const Link link = host_.FindLink("tap0").value();
    host_.SetUp(link);

    remover_.Remove(host_, {link});

    EXPECT_FALSE(host_.FindLink("tap0"));
    EXPECT_FALSE(host_.FindLink(link.index));
    EXPECT_FALSE(std::filesystem::exists("/proc/sys/net/ipv4/conf/tap0"));
    EXPECT_EQ(::if_nametoindex("tap0"), 0U);
    EXPECT_FALSE(RouteSocket::OpenIn(pod).FindLink("eth0"));
  }
}

TEST_F(LinkRemoverTest, LinkOfAnotherNamespaceGoesFromThere) {
  const Netns pod = MakePodNetns();
  for (const int netns : {-1, pod.fd()})
    host_.CreateVeth(
        {.name = "tap" + std::to_string(netns), .peer_name = "eth0", .peer_netns_fd = netns});
  const Link inside = RouteSocket::OpenIn(pod).FindLink("eth0").value();

  remover_.RemoveIn(pod, inside);

  EXPECT_FALSE(RouteSocket::OpenIn(pod).FindLink("eth0"));
  EXPECT_TRUE(RouteSocket().FindLink("eth0"));
}

TEST_F(LinkRemoverTest, NoDescriptorOutlivesTheKernelsAnswer) {
  const auto count = [] {
    const std::filesystem::directory_iterator open("/proc/self/fd");
    return std::distance(begin(open), end(open));
  };
  const auto before = count();
  for (int i = 0; i < 5; ++i) remover_.Remove(host_, {MakeVeth("tap0")});

  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (count() > before && std::chrono::steady_clock::now() < end) std::this_thread::yield();

  EXPECT_EQ(count(), before);
}

TEST_F(LinkRemoverTest, LinksThatAreGoneAreNoError) {
  const std::vector<Link> links = {MakeVeth("tap0"), MakeVeth("tap1")};
  host_.DeleteLink("tap1");

  remover_.Remove(host_, links);
  EXPECT_NO_THROW(remover_.Remove(host_, links));
  EXPECT_NO_THROW(remover_.Remove(host_, {links[0]}));
  EXPECT_NO_THROW(remover_.Remove(host_, {}));

  EXPECT_FALSE(host_.FindLink("tap0"));
}

TEST_F(LinkRemoverTest, BridgeGoesWithItsPorts) {
  ASSERT_TRUE(host_.CreateHub("qbr0"));
  const Link hub = host_.FindLink("qbr0").value();
  const Link port = MakeVeth("tap0");
  host_.SetMasterAndUp(port, hub.index);

  remover_.Remove(host_, {port, hub});

  EXPECT_EQ(LinkCount(Netns::Current()), 1U);
}

TEST_F(LinkRemoverTest, SeveralLinksGoAsOneGroup) {
  const Link tap = MakeVeth("tap0");
  const Link loopback = host_.FindLink("lo").value();

  // That one cannot go, and so tells.
  EXPECT_THROW(remover_.Remove(host_, {tap, loopback}), std::system_error);

  EXPECT_NE(Shown(Netns::Current(), {"link", "show", "dev", "lo"}).at("group"), "default");
}

TEST_F(LinkRemoverTest, LinkThatCannotGoIsItsOwnCallersErrorOnly) {
  constexpr int kThreads = 16;
  std::vector<Link> links;
  for (int i = 1; i < kThreads; ++i) links.push_back(MakeVeth("tap" + std::to_string(i)));
  links.push_back(host_.FindLink("lo").value());
  std::atomic<int> failures = 0;
  {
    std::vector<std::jthread> threads;
    for (const Link& link : links) {
      threads.emplace_back([&, host = Netns::Current()] {
        const NetnsGuard guard(host);
        RouteSocket own;
        const auto error = ErrorOf([&] { remover_.Remove(own, {link}); });
        if (!error.code()) return;
        ++failures;
        EXPECT_THAT(error.what(), HasSubstr("delete link lo"));
      });
    }
  }

  EXPECT_EQ(failures, 1);
  EXPECT_EQ(LinkCount(Netns::Current()), 1U);
}

}  // namespace
}  // namespace kuryr::binding
