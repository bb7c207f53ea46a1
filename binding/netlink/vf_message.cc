#include "binding/netlink/vf_message.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>

#include <algorithm>
#include <array>

#include "binding/netlink/link_message.h"
#include "binding/netlink/nl_error.h"

namespace kuryr::binding {
namespace {

constexpr const char* kBuildVf = "build a request about a virtual function";

nlattr* StartNest(nl_msg& message, int type) {
  nlattr* nest = nla_nest_start(&message, type);
  if (nest == nullptr) throw std::bad_alloc();
  return nest;
}

/// The payload of a nested attribute, where there is one and it is long enough.
template <typename T>
const T* PayloadOf(const nlattr* attribute) {
  if (attribute == nullptr || static_cast<size_t>(nla_len(attribute)) < sizeof(T)) return nullptr;
  return static_cast<const T*>(nla_data(attribute));
}

}  // namespace

NlMsgPtr VfRequest(const Link& pf, uint32_t vf, const VfSettings& settings) {
  NlMsgPtr request = LinkRequest(RTM_NEWLINK, {.ifi_index = pf.index});
  nlattr* list = StartNest(*request, IFLA_VFINFO_LIST);
  nlattr* info = StartNest(*request, IFLA_VF_INFO);
  if (settings.mac) {
    ifla_vf_mac mac{.vf = vf, .mac = {}};
    std::copy(settings.mac->bytes.begin(), settings.mac->bytes.end(), mac.mac);
    CheckNl(nla_put(request.get(), IFLA_VF_MAC, sizeof mac, &mac), kBuildVf);
  }
  if (settings.vlan) {
    const ifla_vf_vlan vlan{.vf = vf, .vlan = *settings.vlan, .qos = 0};
    CheckNl(nla_put(request.get(), IFLA_VF_VLAN, sizeof vlan, &vlan), kBuildVf);
  }
  nla_nest_end(request.get(), info);
  nla_nest_end(request.get(), list);
  return request;
}

std::optional<VfSettings> ParseVf(nl_msg& message, uint32_t vf) {
  nlattr* list = nlmsg_find_attr(nlmsg_hdr(&message), sizeof(ifinfomsg), IFLA_VFINFO_LIST);
  if (list == nullptr) return std::nullopt;
  int left = nla_len(list);
  for (auto* info = static_cast<nlattr*>(nla_data(list)); nla_ok(info, left) != 0;
       info = nla_next(info, &left)) {
    std::array<nlattr*, IFLA_VF_MAX + 1> nested{};
    if (nla_parse_nested(nested.data(), IFLA_VF_MAX, info, nullptr) < 0) continue;
    const auto* mac = PayloadOf<ifla_vf_mac>(nested[IFLA_VF_MAC]);
    const auto* vlan = PayloadOf<ifla_vf_vlan>(nested[IFLA_VF_VLAN]);
    if (mac == nullptr || vlan == nullptr || mac->vf != vf) continue;
    VfSettings settings{.mac = MacAddress(), .vlan = static_cast<uint16_t>(vlan->vlan)};
    std::copy_n(mac->mac, settings.mac->bytes.size(), settings.mac->bytes.begin());
    return settings;
  }
  return std::nullopt;
}

}  // namespace kuryr::binding
