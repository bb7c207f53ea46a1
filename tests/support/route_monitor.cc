#include "tests/support/route_monitor.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <iterator>

#include "base/error.h"
#include "binding/netlink/route_socket.h"

namespace kuryr::test {
namespace {

constexpr unsigned int kGroups =
    RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
constexpr int kMilliseconds = 30'000;

RouteNotice Parse(nlmsghdr& message) {
  RouteNotice notice{.type = message.nlmsg_type};
  if (notice.type == RTM_NEWLINK || notice.type == RTM_DELLINK) {
    const auto* link = static_cast<const ifinfomsg*>(nlmsg_data(&message));
    notice.link = link->ifi_index;
    notice.flags = link->ifi_flags;
  } else if (notice.type == RTM_NEWADDR || notice.type == RTM_DELADDR) {
    notice.link = static_cast<int>(static_cast<const ifaddrmsg*>(nlmsg_data(&message))->ifa_index);
  }
  return notice;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const RouteNotice& notice) {
  return out << "type " << notice.type << " of link " << notice.link << ", flags " << std::hex
             << notice.flags << std::dec;
}

RouteMonitor::RouteMonitor()
    : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {
  const sockaddr_nl groups{.nl_family = AF_NETLINK, .nl_pad = 0, .nl_pid = 0, .nl_groups = kGroups};
  if (!socket_ ||
      ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&groups), sizeof groups) != 0)
    ThrowErrno("listen to the kernel");
}

std::vector<RouteNotice> RouteMonitor::Until(
    const std::function<bool(const std::vector<RouteNotice>& notices)>& is_enough) {
  std::vector<RouteNotice> notices;
  while (!is_enough(notices)) Take(notices);
  // Notices that were on their way come before this one.
  binding::RouteSocket host;
  const binding::Link loopback = host.FindLink("lo").value();
  host.ChangeLink(loopback, {.alias = loopback.alias.empty() ? "heard" : ""});
  const auto is_fence = [&](const RouteNotice& notice) { return notice.link == loopback.index; };
  auto fence = notices.end();
  while ((fence = std::find_if(notices.begin(), notices.end(), is_fence)) == notices.end())
    Take(notices);
  notices.erase(fence, notices.end());
  return notices;
}

void RouteMonitor::Take(std::vector<RouteNotice>& notices) const {
  pollfd readable{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&readable, 1, kMilliseconds) != 1) ThrowErrno(ETIMEDOUT, "hear from the kernel");
  alignas(nlmsghdr) std::array<std::byte, 65536> buffer{};
  const ssize_t length = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (length < 0) ThrowErrno("hear from the kernel");
  int left = static_cast<int>(length);
  for (auto* message = reinterpret_cast<nlmsghdr*>(buffer.data()); nlmsg_ok(message, left) != 0;
       message = nlmsg_next(message, &left))
    notices.push_back(Parse(*message));
}

}  // namespace kuryr::test
