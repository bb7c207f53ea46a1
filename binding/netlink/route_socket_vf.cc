#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>

#include <cerrno>

#include "binding/netlink/link_message.h"
#include "binding/netlink/nl_error.h"
#include "binding/netlink/nl_transaction.h"
#include "binding/netlink/route_socket.h"
#include "binding/netlink/vf_message.h"

// The settings of a physical function for its virtual ones.

namespace kuryr::binding {
namespace {

std::string Of(const Link& pf, uint32_t vf) {
  return "virtual function " + std::to_string(vf) + " of " + pf.name;
}

std::string Describe(const VfSettings& settings) {
  std::string text;
  if (settings.mac) text += "MAC " + settings.mac->ToString() + " ";
  if (settings.vlan) text += "VLAN " + std::to_string(*settings.vlan) + " ";
  return text;
}

}  // namespace

std::optional<VfSettings> RouteSocket::FindVf(const Link& pf, uint32_t vf) {
  const std::string what = "find the settings of " + Of(pf, vf);
  const NlMsgPtr request = LinkRequest(RTM_GETLINK, {.ifi_index = pf.index});
  CheckNl(nla_put_u32(request.get(), IFLA_EXT_MASK, RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS),
          what);
  const NlAnswer answer = Transact(*socket_, *request, what);
  return ParseVf(ObjectOf(answer, what), vf);
}

void RouteSocket::SetVf(const Link& pf, uint32_t vf, const VfSettings& settings) {
  const std::string what = "set " + Describe(settings) + "for " + Of(pf, vf);
  CheckAnswer(Transact(*socket_, *VfRequest(pf, vf, settings), what), what);
}

}  // namespace kuryr::binding
