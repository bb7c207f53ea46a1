#include "binding/netlink/link_message.h"

#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <netlink/attr.h>

#include <array>
#include <cstring>

#include "binding/netlink/nl_error.h"
#include "binding/netlink/nl_value.h"

namespace kuryr::binding {
namespace {

using Attributes = std::array<nlattr*, IFLA_MAX + 1>;

void ParseInfo(nlattr* link_info, Link& link) {
  std::array<nlattr*, IFLA_INFO_MAX + 1> nested{};
  if (link_info == nullptr) return;
  if (nla_parse_nested(nested.data(), IFLA_INFO_MAX, link_info, nullptr) < 0) return;
  link.kind = TextIn(nested[IFLA_INFO_KIND]);
  if (link.kind != "vlan" || nested[IFLA_INFO_DATA] == nullptr) return;
  const nlattr* id = nla_find(static_cast<nlattr*>(nla_data(nested[IFLA_INFO_DATA])),
                              nla_len(nested[IFLA_INFO_DATA]), IFLA_VLAN_ID);
  link.vlan_id = NumberIn<uint16_t>(id).value_or(0);
}

uint32_t NumberOf(const nlattr* attribute) { return NumberIn<uint32_t>(attribute).value_or(0); }

int IndexOf(const nlattr* attribute) { return static_cast<int>(NumberOf(attribute)); }

constexpr const char* kBuildVeth = "build a request for a veth pair";

/// In the machine's byte order, as rtnetlink has numbers.
template <typename T>
void PutAsIs(nl_msg& message, int type, const T& value) {
  CheckNl(nla_put(&message, type, sizeof value, &value), kBuildVeth);
}

/// The attributes of both ends.
void PutEnd(nl_msg& message, const std::string& name, const VethPair& pair) {
  CheckNl(nla_put_string(&message, IFLA_IFNAME, name.c_str()), kBuildVeth);
  if (pair.mtu) PutAsIs(message, IFLA_MTU, *pair.mtu);
  PutAsIs(message, IFLA_GROUP, pair.group);
}

}  // namespace

// A change names its link by index: rtnl_link_change() compares two objects to find what differs,
// and ignores the first one's name.
NlMsgPtr LinkRequest(int type, const ifinfomsg& header) {
  NlMsgPtr message = Owned<NlMsgPtr>(nlmsg_alloc_simple(type, 0));
  ifinfomsg copy = header;
  CheckNl(nlmsg_append(message.get(), &copy, sizeof copy, NLMSG_ALIGNTO), "build a link request");
  return message;
}

NlMsgPtr SetUpRequest(const Link& link) {
  return LinkRequest(RTM_NEWLINK,
                     {.ifi_index = link.index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP});
}

// libnl has no way to give the peer a group.
NlMsgPtr VethRequest(const VethPair& pair) {
  NlMsgPtr request = LinkRequest(RTM_NEWLINK, {});
  nl_msg& message = *request;
  nlmsg_hdr(&message)->nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL;
  PutEnd(message, pair.name, pair);
  if (pair.master != 0) PutAsIs(message, IFLA_MASTER, pair.master);
  nlattr* info = nla_nest_start(&message, IFLA_LINKINFO);
  CheckNl(nla_put_string(&message, IFLA_INFO_KIND, "veth"), kBuildVeth);
  nlattr* data = nla_nest_start(&message, IFLA_INFO_DATA);
  nlattr* peer = nla_nest_start(&message, VETH_INFO_PEER);
  ifinfomsg header{};
  CheckNl(nlmsg_append(&message, &header, sizeof header, NLMSG_ALIGNTO), kBuildVeth);
  PutEnd(message, pair.peer_name, pair);
  if (pair.peer_netns_fd >= 0) PutAsIs(message, IFLA_NET_NS_FD, pair.peer_netns_fd);
  if (pair.peer_mac) PutAsIs(message, IFLA_ADDRESS, pair.peer_mac->bytes);
  for (nlattr* nest : {peer, data, info}) CheckNl(nla_nest_end(&message, nest), kBuildVeth);
  return request;
}

Link ParseLink(nl_msg& message, const std::string& what) {
  nlmsghdr* header = nlmsg_hdr(&message);
  Attributes attributes{};
  CheckNl(nlmsg_parse(header, sizeof(ifinfomsg), attributes.data(), IFLA_MAX, nullptr), what);
  const auto* info = static_cast<const ifinfomsg*>(nlmsg_data(header));
  Link link;
  link.index = info->ifi_index;
  link.up = (info->ifi_flags & IFF_UP) != 0;
  link.has_carrier = (info->ifi_flags & IFF_LOWER_UP) != 0;
  link.running = (info->ifi_flags & IFF_RUNNING) != 0;
  link.name = TextIn(attributes[IFLA_IFNAME]);
  link.alias = TextIn(attributes[IFLA_IFALIAS]);
  link.group = NumberOf(attributes[IFLA_GROUP]);
  ParseInfo(attributes[IFLA_LINKINFO], link);
  link.lower = IndexOf(attributes[IFLA_LINK]);
  link.lower_is_elsewhere = attributes[IFLA_LINK_NETNSID] != nullptr;
  link.master = IndexOf(attributes[IFLA_MASTER]);
  link.qdisc = TextIn(attributes[IFLA_QDISC]);
  link.parent_device = TextIn(attributes[IFLA_PARENT_DEV_NAME]);
  link.mtu = NumberOf(attributes[IFLA_MTU]);
  const nlattr* mac = attributes[IFLA_ADDRESS];
  // Tunnels and the like have addresses of other lengths.
  if (mac != nullptr && static_cast<size_t>(nla_len(mac)) == link.mac.bytes.size())
    std::memcpy(link.mac.bytes.data(), nla_data(mac), link.mac.bytes.size());
  return link;
}

}  // namespace kuryr::binding
