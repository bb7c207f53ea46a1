#include "binding/netlink/link_watch.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/error.h"
#include "base/unique_fd.h"

namespace kuryr::binding {
namespace {

UniqueFd OpenLinkEvents() {
  UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  const sockaddr_nl groups{.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&groups), sizeof groups) != 0)
    ThrowErrno("listen to events of links");
  return socket;
}

/// What they say is asked anew: some may have been lost (ENOBUFS).
void Drain(const UniqueFd& events) {
  std::array<char, 8192> buffer{};
  while (::recv(events.get(), buffer.data(), buffer.size(), 0) >= 0 || errno == ENOBUFS) {
  }
}

}  // namespace

bool WaitUntilGone(RouteSocket& host, const Link& link, const Deadline& deadline) {
  const UniqueFd events = OpenLinkEvents();
  std::array<pollfd, 2> fds = {{{.fd = events.get(), .events = POLLIN, .revents = 0},
                                {.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0}}};
  while (host.FindLink(link.index)) {
    const int ready =
        ::poll(fds.data(), fds.size(), static_cast<int>(deadline.Remaining().count()));
    if (ready < 0 && errno != EINTR) ThrowErrno("wait for " + link.name + " to go");
    if (ready == 0 || (ready > 0 && fds[1].revents != 0)) return false;
    Drain(events);
  }
  return true;
}

}  // namespace kuryr::binding
