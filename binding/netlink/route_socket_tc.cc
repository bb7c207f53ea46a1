#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>

#include "binding/netlink/nl_error.h"
#include "binding/netlink/nl_transaction.h"
#include "binding/netlink/route_socket.h"

// Traffic control (tc(8)): what others have set is read, and nothing is changed.

namespace kuryr::binding {

bool RouteSocket::HasIngressFilter(const Link& link) {
  const std::string what = "list the ingress filters of " + link.name;
  const auto request = Owned<NlMsgPtr>(nlmsg_alloc_simple(RTM_GETTFILTER, NLM_F_DUMP));
  tcmsg ingress = {
      .tcm_family = AF_UNSPEC, .tcm_ifindex = link.index, .tcm_parent = TC_H_MAJ(TC_H_INGRESS)};
  CheckNl(nlmsg_append(request.get(), &ingress, sizeof(ingress), NLMSG_ALIGNTO), what);
  bool has_filter = false;
  Dump(*socket_, *request, what,
       [&](nlmsghdr& header) { has_filter = has_filter || header.nlmsg_type == RTM_NEWTFILTER; });
  return has_filter;
}

}  // namespace kuryr::binding
