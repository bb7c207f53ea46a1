#include "binding/netlink/route_socket.h"

#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <netlink/attr.h>
#include <netlink/route/link/bridge.h>
#include <netlink/route/link/macvlan.h>
#include <netlink/route/link/vlan.h>
#include <netlink/socket.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "binding/netlink/link_message.h"
#include "binding/netlink/nl_error.h"
#include "binding/netlink/nl_transaction.h"

namespace kuryr::binding {
namespace {

// libnl cuts a long name short, and the kernel counts up a '%d'.
void CheckNewName(const std::string& name, const std::string& what) {
  if (name.empty() || name.size() >= IFNAMSIZ || name.find('%') != std::string::npos)
    ThrowErrno(EINVAL, what + " (\"" + Printable(name) + "\" is no interface name)");
}

void SetEthernetAddress(rtnl_link& link, const MacAddress& mac) {
  rtnl_link_set_addr(
      &link, Owned<NlAddrPtr>(nl_addr_build(AF_LLC, mac.bytes.data(), mac.bytes.size())).get());
}

/// The attributes of every link on top of another.
void Describe(const StackedLink& stacked, rtnl_link& link, const std::string& what) {
  CheckNewName(stacked.name, what);
  rtnl_link_set_name(&link, stacked.name.c_str());
  rtnl_link_set_link(&link, stacked.parent.index);
  if (stacked.netns_fd >= 0) rtnl_link_set_ns_fd(&link, stacked.netns_fd);
  if (stacked.mac) SetEthernetAddress(link, *stacked.mac);
  if (stacked.mtu) rtnl_link_set_mtu(&link, *stacked.mtu);
  rtnl_link_set_group(&link, stacked.group);
}

/// False where there is no such link. Any socket of the namespace will do.
bool Ask(int socket, unsigned long command, ifreq& request, const std::string& what) {
  if (::ioctl(socket, command, &request) == 0) return true;
  if (errno != ENODEV) ThrowErrno(what);
  return false;
}

}  // namespace

RouteSocket::RouteSocket() : socket_(OpenNlSocket(NETLINK_ROUTE)) {}

RouteSocket RouteSocket::OpenIn(const Netns& netns) {
  const NetnsGuard guard(netns);
  return {};
}

std::optional<Link> RouteSocket::FindLink(const std::string& name) {
  const std::string what = "find link " + Printable(name);
  const NlMsgPtr request = LinkRequest(RTM_GETLINK, {});
  CheckNl(nla_put_string(request.get(), IFLA_IFNAME, name.c_str()), what);
  return Get(*request, what);
}

std::optional<Link> RouteSocket::FindLink(int index) {
  if (index <= 0) return std::nullopt;
  return Get(*LinkRequest(RTM_GETLINK, {.ifi_index = index}),
             "find link number " + std::to_string(index));
}

std::optional<Link> RouteSocket::Get(nl_msg& request, const std::string& what) {
  CheckNl(nla_put_u32(&request, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS), what);
  const NlAnswer answer = Transact(*socket_, request, what);
  if (answer.error == ENODEV) return std::nullopt;
  return ParseLink(ObjectOf(answer, what), what);
}

NlAnswer RouteSocket::Add(rtnl_link& link, const std::string& what) {
  nl_msg* request = nullptr;
  CheckNl(rtnl_link_build_add_request(&link, NLM_F_CREATE | NLM_F_EXCL, &request), what);
  return Transact(*socket_, *NlMsgPtr(request), what);
}

void RouteSocket::CreateVeth(const VethPair& pair) {
  const std::string what =
      "create veth " + Printable(pair.name) + " with peer " + Printable(pair.peer_name);
  CheckNewName(pair.name, what);
  CheckNewName(pair.peer_name, what);
  CheckAnswer(Transact(*socket_, *VethRequest(pair), what), what);
}

void RouteSocket::CreateMacvlan(const StackedLink& stacked) {
  const std::string what = "create macvlan " + stacked.name + " on " + stacked.parent.name;
  const RtnlLinkPtr link = Owned<RtnlLinkPtr>(rtnl_link_macvlan_alloc());
  CheckNl(rtnl_link_macvlan_set_mode(link.get(), MACVLAN_MODE_BRIDGE), what);
  Describe(stacked, *link, what);
  CheckAnswer(Add(*link, what), what);
}

bool RouteSocket::CreateVlan(const StackedLink& stacked, uint16_t vlan_id) {
  const std::string what =
      "create VLAN " + std::to_string(vlan_id) + " " + stacked.name + " on " + stacked.parent.name;
  const RtnlLinkPtr link = Owned<RtnlLinkPtr>(rtnl_link_vlan_alloc());
  CheckNl(rtnl_link_vlan_set_id(link.get(), vlan_id), what);
  Describe(stacked, *link, what);
  const NlAnswer answer = Add(*link, what);
  if (answer.error == EEXIST) return false;
  CheckAnswer(answer, what);
  return true;
}

bool RouteSocket::CreateBridgeDown(const std::string& name, const std::optional<MacAddress>& mac,
                                   uint32_t group) {
  const std::string what = "create bridge " + Printable(name);
  CheckNewName(name, what);
  const RtnlLinkPtr link = Owned<RtnlLinkPtr>(rtnl_link_bridge_alloc());
  rtnl_link_set_name(link.get(), name.c_str());
  if (mac) SetEthernetAddress(*link, *mac);
  rtnl_link_set_group(link.get(), group);
  const NlAnswer answer = Add(*link, what);
  if (answer.error == EEXIST) return false;
  CheckAnswer(answer, what);
  return true;
}

bool RouteSocket::CreateHub(const std::string& name, uint32_t group) {
  const std::string what = "create bridge " + Printable(name);
  CheckNewName(name, what);
  const NlMsgPtr request = LinkRequest(RTM_NEWLINK, {});
  nlmsg_hdr(request.get())->nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL;
  CheckNl(nla_put_string(request.get(), IFLA_IFNAME, name.c_str()), what);
  CheckNl(nla_put_u32(request.get(), IFLA_GROUP, group), what);
  nlattr* info = nla_nest_start(request.get(), IFLA_LINKINFO);
  CheckNl(nla_put_string(request.get(), IFLA_INFO_KIND, "bridge"), what);
  nlattr* data = nla_nest_start(request.get(), IFLA_INFO_DATA);
  // libnl has setters for none of these.
  CheckNl(nla_put_u32(request.get(), IFLA_BR_AGEING_TIME, 0), what);
  CheckNl(nla_put_u32(request.get(), IFLA_BR_FORWARD_DELAY, 0), what);
  CheckNl(nla_put_u32(request.get(), IFLA_BR_STP_STATE, 0), what);
  CheckNl(nla_put_u8(request.get(), IFLA_BR_MCAST_SNOOPING, 0), what);
  nla_nest_end(request.get(), data);
  nla_nest_end(request.get(), info);
  const NlAnswer answer = Transact(*socket_, *request, what);
  if (answer.error == EEXIST) return false;
  CheckAnswer(answer, what);
  return true;
}

void RouteSocket::SetUp(const Link& link) {
  const std::string what = "set up " + link.name;
  CheckAnswer(Transact(*socket_, *SetUpRequest(link), what), what);
}

void RouteSocket::SetMasterAndUp(const Link& link, int master) {
  const std::string what = "make " + link.name + " a port of the bridge with number " +
                           std::to_string(master) + " and set it up";
  const NlMsgPtr request = SetUpRequest(link);
  CheckNl(nla_put_u32(request.get(), IFLA_MASTER, static_cast<uint32_t>(master)), what);
  CheckAnswer(Transact(*socket_, *request, what), what);
}

void RouteSocket::SetPromiscuous(const Link& link) {
  const std::string what = "set " + link.name + " promiscuous";
  const NlMsgPtr request = LinkRequest(
      RTM_NEWLINK, {.ifi_index = link.index, .ifi_flags = IFF_PROMISC, .ifi_change = IFF_PROMISC});
  CheckAnswer(Transact(*socket_, *request, what), what);
}

void RouteSocket::SetHairpin(const Link& port) {
  const std::string what = "set bridge port " + port.name + " to hairpin mode";
  const NlMsgPtr request =
      LinkRequest(RTM_SETLINK, {.ifi_family = AF_BRIDGE, .ifi_index = port.index});
  nlattr* settings = nla_nest_start(request.get(), IFLA_PROTINFO);
  CheckNl(nla_put_u8(request.get(), IFLA_BRPORT_MODE, 1), what);
  CheckNl(nla_nest_end(request.get(), settings), what);
  CheckAnswer(Transact(*socket_, *request, what), what);
}

void RouteSocket::SetAliasAndUp(const Link& link, const std::string& alias) {
  const std::string what = "set alias of " + link.name + " and set it up";
  const NlMsgPtr request = SetUpRequest(link);
  CheckNl(nla_put(request.get(), IFLA_IFALIAS, static_cast<int>(alias.size()), alias.data()), what);
  CheckAnswer(Transact(*socket_, *request, what), what);
}

void RouteSocket::SetNameAliasAndUp(const Link& link, const std::string& name,
                                    const std::string& alias) {
  const std::string what = "name link " + link.name + " " + Printable(name) + " and set it up";
  CheckNewName(name, what);
  const NlMsgPtr request = SetUpRequest(link);
  CheckNl(nla_put_string(request.get(), IFLA_IFNAME, name.c_str()), what);
  CheckNl(nla_put(request.get(), IFLA_IFALIAS, static_cast<int>(alias.size()), alias.data()), what);
  CheckAnswer(Transact(*socket_, *request, what), what);
}

void RouteSocket::MakeChecksums(const Link& link) {
  AskEthtool(link, ETHTOOL_STXCSUM, "switch off tx-checksumming of " + link.name);
}

bool RouteSocket::LeavesChecksums(const Link& link) {
  return AskEthtool(link, ETHTOOL_GTXCSUM, "read tx-checksumming of " + link.name) != 0;
}

std::optional<Link> RouteSocket::GlanceAt(const std::string& name) {
  if (name.size() >= IFNAMSIZ) return std::nullopt;
  const std::string what = "look at link " + name;
  const int socket = nl_socket_get_fd(socket_.get());
  ifreq request{};
  name.copy(request.ifr_name, name.size());
  Link link{.name = name};
  if (!Ask(socket, SIOCGIFINDEX, request, what)) return std::nullopt;
  link.index = request.ifr_ifindex;
  if (!Ask(socket, SIOCGIFHWADDR, request, what)) return std::nullopt;
  std::copy_n(request.ifr_hwaddr.sa_data, link.mac.bytes.size(), link.mac.bytes.begin());
  if (!Ask(socket, SIOCGIFMTU, request, what)) return std::nullopt;
  link.mtu = static_cast<uint32_t>(request.ifr_mtu);
  if (!Ask(socket, SIOCGIFFLAGS, request, what)) return std::nullopt;
  link.up = (request.ifr_flags & IFF_UP) != 0;
  return link;
}

/// The request's value is 0. Any socket of the namespace will do.
uint32_t RouteSocket::AskEthtool(const Link& link, uint32_t command, const std::string& what) {
  ethtool_value value{.cmd = command, .data = 0};
  ifreq request{};
  link.name.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&value);
  if (::ioctl(nl_socket_get_fd(socket_.get()), SIOCETHTOOL, &request) != 0) ThrowErrno(what);
  return value.data;
}

void RouteSocket::ChangeLink(const Link& link, const LinkChange& change) {
  std::string what = change.netns_fd ? "move link " + link.name : "change link " + link.name;
  if (change.name) {
    what += " to name " + Printable(*change.name);
    CheckNewName(*change.name, what);
  }
  constexpr unsigned int kUp = IFF_UP;
  const NlMsgPtr request = LinkRequest(RTM_NEWLINK, {.ifi_index = link.index,
                                                     .ifi_flags = change.up == true ? kUp : 0,
                                                     .ifi_change = change.up ? kUp : 0});
  const auto put = [&](int type, size_t size, const void* data) {
    CheckNl(nla_put(request.get(), type, static_cast<int>(size), data), what);
  };
  if (change.netns_fd) put(IFLA_NET_NS_FD, sizeof(int), &*change.netns_fd);
  if (change.mac) put(IFLA_ADDRESS, change.mac->bytes.size(), change.mac->bytes.data());
  if (change.mtu) put(IFLA_MTU, sizeof(uint32_t), &*change.mtu);
  if (change.name) put(IFLA_IFNAME, change.name->size() + 1, change.name->c_str());
  if (change.alias) put(IFLA_IFALIAS, change.alias->size(), change.alias->data());
  CheckAnswer(Transact(*socket_, *request, what), what);
}

bool RouteSocket::DeleteLink(const std::string& name) {
  const std::string what = "delete link " + Printable(name);
  const NlMsgPtr request = LinkRequest(RTM_DELLINK, {});
  CheckNl(nla_put_string(request.get(), IFLA_IFNAME, name.c_str()), what);
  return ChangeIfThere(*request, what);
}

bool RouteSocket::DeleteLink(const Link& link) {
  return ChangeIfThere(*LinkRequest(RTM_DELLINK, {.ifi_index = link.index}),
                       "delete link " + link.name);
}

bool RouteSocket::SetGroup(const Link& link, uint32_t group) {
  const std::string what = "put link " + link.name + " into a group";
  const NlMsgPtr request = LinkRequest(RTM_NEWLINK, {.ifi_index = link.index});
  CheckNl(nla_put_u32(request.get(), IFLA_GROUP, group), what);
  return ChangeIfThere(*request, what);
}

bool RouteSocket::DeleteGroup(uint32_t group) {
  const std::string what = "delete a group of links";
  const NlMsgPtr request = LinkRequest(RTM_DELLINK, {});
  CheckNl(nla_put_u32(request.get(), IFLA_GROUP, group), what);
  return ChangeIfThere(*request, what);
}

bool RouteSocket::ChangeIfThere(nl_msg& request, const std::string& what) {
  const NlAnswer answer = Transact(*socket_, request, what);
  if (answer.error == ENODEV) return false;
  CheckAnswer(answer, what);
  return true;
}

}  // namespace kuryr::binding
