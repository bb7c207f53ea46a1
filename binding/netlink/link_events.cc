#include "binding/netlink/link_events.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/error.h"

namespace kuryr::binding {
namespace {

constexpr const char* kFollow = "listen to events of links";

/// Adds the names of all links in `size` bytes of messages at `message`.
void AppendNames(nlmsghdr* message, int size, std::set<std::string>& names) {
  for (; nlmsg_ok(message, size) != 0; message = nlmsg_next(message, &size)) {
    if (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK) continue;
    const nlattr* name = nlmsg_find_attr(message, sizeof(ifinfomsg), IFLA_IFNAME);
    if (name != nullptr) names.emplace(nla_get_string(name));
  }
}

}  // namespace

LinkEvents::LinkEvents()
    : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE)) {
  const sockaddr_nl groups{.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
  if (!socket_ ||
      ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&groups), sizeof groups) != 0)
    ThrowErrno(kFollow);
}

std::optional<std::set<std::string>> LinkEvents::Next(const Deadline& deadline) {
  if (std::exchange(is_first_, false)) return std::nullopt;
  std::array<pollfd, 2> fds = {{{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                                {.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0}}};
  const auto wait = std::min(deadline.Remaining(), std::chrono::milliseconds(3'600'000));
  const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(wait.count()));
  if (ready < 0 && errno != EINTR) ThrowErrno(kFollow);
  if (ready > 0 && fds[1].revents != 0) ThrowErrno(ECANCELED, kFollow);
  if (ready == 0 && deadline.Remaining().count() == 0) ThrowErrno(ETIMEDOUT, kFollow);
  std::set<std::string> names;
  alignas(nlmsghdr) std::array<char, 65536> buffer;
  ssize_t size = 0;
  while ((size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0)) > 0)
    AppendNames(reinterpret_cast<nlmsghdr*>(buffer.data()), static_cast<int>(size), names);
  if (size < 0 && errno == ENOBUFS) return std::nullopt;
  if (size < 0 && errno != EAGAIN && errno != EINTR) ThrowErrno(kFollow);
  return names;
}

}  // namespace kuryr::binding
