#include "binding/netlink/listeners.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <netlink/msg.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <system_error>

#include "binding/netlink/nl_error.h"
#include "binding/netlink/nl_transaction.h"

namespace kuryr::binding {
namespace {

constexpr const char* kWhat = "list the sockets that listen on a TCP port";

void AppendListeners(nl_sock& socket, int family, uint16_t port, std::vector<IpAddress>& found) {
  const NlMsgPtr message = Owned<NlMsgPtr>(nlmsg_alloc_simple(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP));
  inet_diag_req_v2 request{.sdiag_family = static_cast<uint8_t>(family),
                           .sdiag_protocol = IPPROTO_TCP,
                           .idiag_states = 1U << TCP_LISTEN};
  request.id.idiag_sport = htons(port);
  CheckNl(nlmsg_append(message.get(), &request, sizeof request, NLMSG_ALIGNTO), kWhat);
  Dump(socket, *message, kWhat, [&](nlmsghdr& answer) {
    if (nlmsg_datalen(&answer) < static_cast<int>(sizeof(inet_diag_msg))) return;
    const auto* listener = static_cast<const inet_diag_msg*>(nlmsg_data(&answer));
    if (listener->id.idiag_sport != htons(port)) return;
    IpAddress address{.family = family == AF_INET ? IpFamily::kIpv4 : IpFamily::kIpv6};
    std::memcpy(address.bytes.data(), listener->id.idiag_src, address.size());
    found.push_back(address);
  });
}

}  // namespace

std::vector<IpAddress> FindListeners(uint16_t port) {
  const NlSocketPtr socket = OpenNlSocket(NETLINK_SOCK_DIAG);
  std::vector<IpAddress> found;
  for (const int family : {AF_INET, AF_INET6}) {
    try {
      AppendListeners(*socket, family, port, found);
    } catch (const std::system_error& e) {
      if (e.code() != std::errc::no_such_file_or_directory &&
          e.code() != std::errc::protocol_not_supported)
        throw;
    }
  }
  return found;
}

}  // namespace kuryr::binding
