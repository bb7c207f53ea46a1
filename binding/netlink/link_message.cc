#include "binding/netlink/link_message.h"

#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>

#include <array>
#include <cstring>

#include "binding/netlink/nl_error.h"

namespace kuryr::binding {
namespace {

using Attributes = std::array<nlattr*, IFLA_MAX + 1>;

std::string TextOf(const nlattr* attribute) {
  if (attribute == nullptr) return {};
  const char* data = static_cast<const char*>(nla_data(attribute));
  return {data, ::strnlen(data, static_cast<size_t>(nla_len(attribute)))};
}

void ParseInfo(nlattr* link_info, Link& link) {
  std::array<nlattr*, IFLA_INFO_MAX + 1> nested{};
  if (link_info == nullptr) return;
  if (nla_parse_nested(nested.data(), IFLA_INFO_MAX, link_info, nullptr) < 0) return;
  link.kind = TextOf(nested[IFLA_INFO_KIND]);
  if (link.kind != "vlan" || nested[IFLA_INFO_DATA] == nullptr) return;
  const nlattr* id = nla_find(static_cast<nlattr*>(nla_data(nested[IFLA_INFO_DATA])),
                              nla_len(nested[IFLA_INFO_DATA]), IFLA_VLAN_ID);
  if (id != nullptr) link.vlan_id = nla_get_u16(id);
}

int IndexOf(const nlattr* attribute) {
  return attribute == nullptr ? 0 : static_cast<int>(nla_get_u32(attribute));
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

Link ParseLink(nl_msg& message, const std::string& what) {
  nlmsghdr* header = nlmsg_hdr(&message);
  Attributes attributes{};
  CheckNl(nlmsg_parse(header, sizeof(ifinfomsg), attributes.data(), IFLA_MAX, nullptr), what);
  const auto* info = static_cast<const ifinfomsg*>(nlmsg_data(header));
  Link link;
  link.index = info->ifi_index;
  link.up = (info->ifi_flags & IFF_UP) != 0;
  link.has_carrier = (info->ifi_flags & IFF_LOWER_UP) != 0;
  link.name = TextOf(attributes[IFLA_IFNAME]);
  link.alias = TextOf(attributes[IFLA_IFALIAS]);
  ParseInfo(attributes[IFLA_LINKINFO], link);
  link.lower = IndexOf(attributes[IFLA_LINK]);
  link.lower_is_elsewhere = attributes[IFLA_LINK_NETNSID] != nullptr;
  link.master = IndexOf(attributes[IFLA_MASTER]);
  link.parent_device = TextOf(attributes[IFLA_PARENT_DEV_NAME]);
  if (const nlattr* mtu = attributes[IFLA_MTU]; mtu != nullptr) link.mtu = nla_get_u32(mtu);
  const nlattr* mac = attributes[IFLA_ADDRESS];
  // Tunnels and the like have addresses of other lengths.
  if (mac != nullptr && static_cast<size_t>(nla_len(mac)) == link.mac.bytes.size())
    std::memcpy(link.mac.bytes.data(), nla_data(mac), link.mac.bytes.size());
  return link;
}

}  // namespace kuryr::binding
