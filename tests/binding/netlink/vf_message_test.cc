#include "binding/netlink/vf_message.h"

#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>

#include <string>
#include <system_error>
#include <vector>

#include "binding/netlink/link_message.h"
#include "binding/netlink/route_socket.h"
#include "tests/support/netns_fixture.h"

namespace kuryr::binding {
namespace {

const MacAddress kMac = MacAddress::Parse("fa:16:3e:01:02:03").value();
const Link kPf = {.index = 7, .name = "ens1"};

/// After the netlink header, whose flags and sequence the socket fills in.
std::vector<uint8_t> PayloadOf(const NlMsgPtr& message) {
  const auto* data = static_cast<const uint8_t*>(nlmsg_data(nlmsg_hdr(message.get())));
  return {data, data + nlmsg_datalen(nlmsg_hdr(message.get()))};
}

void Append(std::vector<uint8_t>& bytes, const std::vector<uint8_t>& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

/// The request that `ip link set dev ens1 vf 3 mac fa:16:3e:01:02:03 vlan 205` of iproute2 6.1
/// sends (strace). libnl adds NLA_F_NESTED (0x80), which the kernel ignores.
TEST(VfMessageTest, RequestIsThatOfIproute2) {
  std::vector<uint8_t> expected = {0, 0, 0, 0,  7, 0,    0,    0,    0,    0,    0,    0,  0,
                                   0, 0, 0, 64, 0, 0x16, 0x80, 60,   0,    0x01, 0x80, 40, 0,
                                   1, 0, 3, 0,  0, 0,    0xfa, 0x16, 0x3e, 1,    2,    3};
  Append(expected, std::vector<uint8_t>(26, 0));
  Append(expected, {16, 0, 2, 0, 3, 0, 0, 0, 205, 0, 0, 0, 0, 0, 0, 0});

  const NlMsgPtr request = VfRequest(kPf, 3, {.mac = kMac, .vlan = 205});

  EXPECT_EQ(nlmsg_hdr(request.get())->nlmsg_type, RTM_NEWLINK);
  EXPECT_EQ(PayloadOf(request), expected);
}

TEST(VfMessageTest, RequestHasOnlyWhatIsToBeChanged) {
  EXPECT_EQ(PayloadOf(VfRequest(kPf, 3, {.mac = kMac})).size(), 16U + 4 + 4 + 40);
  EXPECT_EQ(PayloadOf(VfRequest(kPf, 3, {.vlan = 0})).size(), 16U + 4 + 4 + 16);
}

/// A request has the form of the kernel's answer: a list with an entry for each VF.
TEST(VfMessageTest, AnswerIsReadByTheNumberOfTheVf) {
  const NlMsgPtr answer = VfRequest(kPf, 3, {.mac = kMac, .vlan = 205});

  EXPECT_EQ(ParseVf(*answer, 3), (VfSettings{.mac = kMac, .vlan = 205}));
  EXPECT_EQ(ParseVf(*answer, 2), std::nullopt);
  EXPECT_EQ(ParseVf(*LinkRequest(RTM_NEWLINK, {.ifi_index = 7}), 3), std::nullopt);
}

TEST(VfMessageTest, ShortAttributesAreNotRead) {
  const NlMsgPtr answer = LinkRequest(RTM_NEWLINK, {.ifi_index = 7});
  nlattr* list = nla_nest_start(answer.get(), IFLA_VFINFO_LIST);
  nlattr* info = nla_nest_start(answer.get(), IFLA_VF_INFO);
  nla_put_u32(answer.get(), IFLA_VF_MAC, 3);
  nla_put_u32(answer.get(), IFLA_VF_VLAN, 3);
  nla_nest_end(answer.get(), info);
  nla_nest_end(answer.get(), list);

  EXPECT_EQ(ParseVf(*answer, 3), std::nullopt);
}

class VfSocketTest : public test::NetnsTest {};

TEST_F(VfSocketTest, LinkWithoutVirtualFunctionsHasNoneAndRefusesThem) {
  RouteSocket host;
  host.CreateVeth({.name = "ens1", .peer_name = "wire"});
  const Link pf = host.FindLink("ens1").value();

  EXPECT_EQ(host.FindVf(pf, 0), std::nullopt);
  try {
    host.SetVf(pf, 3, {.mac = kMac, .vlan = 205});
    ADD_FAILURE() << "accepted";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::operation_not_supported);
    EXPECT_NE(std::string(e.what()).find("MAC fa:16:3e:01:02:03 VLAN 205 for virtual function 3"),
              std::string::npos)
        << e.what();
  }
}

TEST_F(VfSocketTest, MoveKeepsTheMarkAndWhatIsSetComesWithIt) {
  const Netns pod = MakePodNetns();
  RouteSocket host;
  host.CreateVeth({.name = "ens1v0", .peer_name = "wire"});
  const Link link = host.FindLink("ens1v0").value();

  host.ChangeLink(link, {.netns_fd = pod.fd(),
                         .mac = kMac,
                         .mtu = 1400,
                         .name = "eth0",
                         .alias = "mark",
                         .up = true});

  EXPECT_FALSE(host.FindLink("ens1v0"));
  const auto moved = RouteSocket::OpenIn(pod).FindLink("eth0");
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->mac, kMac);
  EXPECT_EQ(moved->mtu, 1400U);
  EXPECT_EQ(moved->alias, "mark");
  EXPECT_TRUE(moved->up);
}

TEST_F(VfSocketTest, EmptyAliasIsNone) {
  RouteSocket host;
  host.CreateVeth({.name = "ens1v0", .peer_name = "wire"});
  const Link link = host.FindLink("ens1v0").value();
  host.ChangeLink(link, {.alias = "mark", .up = true});

  host.ChangeLink(link, {.alias = "", .up = false});

  EXPECT_EQ(host.FindLink("ens1v0")->alias, "");
  EXPECT_FALSE(host.FindLink("ens1v0")->up);
}

}  // namespace
}  // namespace kuryr::binding
