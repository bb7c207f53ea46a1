#include "tests/support/neighbour_table.h"

#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/error.h"

namespace kuryr::test {
namespace {

constexpr int kNeighbourPatience = 30'000;

UniqueFd OpenIn(const binding::Netns& netns) {
  const binding::NetnsGuard guard(netns);
  UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  const sockaddr_nl groups{.nl_family = AF_NETLINK, .nl_groups = RTMGRP_NEIGH};
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&groups), sizeof groups) != 0)
    ThrowErrno("listen to the kernel's neighbours");
  return socket;
}

}  // namespace

NeighbourTable::NeighbourTable(const binding::Netns& netns) : socket_(OpenIn(netns)) {}

void NeighbourTable::WaitFor(const std::string& address, const MacAddress& mac) {
  const IpAddress wanted = IpAddress::Parse(address).value();
  for (;;) {
    const auto noted = noted_.find(wanted);
    if (noted != noted_.end() && noted->second == mac) return;
    Take();
  }
}

void NeighbourTable::Take() {
  pollfd readable{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&readable, 1, kNeighbourPatience) != 1) ThrowErrno(ETIMEDOUT, "hear of a neighbour");
  alignas(nlmsghdr) std::array<std::byte, 65536> buffer{};
  const ssize_t length = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (length < 0) ThrowErrno("hear of a neighbour");
  int left = static_cast<int>(length);
  for (auto* message = reinterpret_cast<nlmsghdr*>(buffer.data()); nlmsg_ok(message, left) != 0;
       message = nlmsg_next(message, &left)) {
    if (message->nlmsg_type != RTM_NEWNEIGH) continue;
    const nlattr* address = nlmsg_find_attr(message, sizeof(ndmsg), NDA_DST);
    const nlattr* mac = nlmsg_find_attr(message, sizeof(ndmsg), NDA_LLADDR);
    if (address == nullptr || mac == nullptr || nla_len(mac) != 6) continue;
    const auto* header = static_cast<const ndmsg*>(nlmsg_data(message));
    IpAddress key{.family = header->ndm_family == AF_INET ? IpFamily::kIpv4 : IpFamily::kIpv6};
    if (static_cast<size_t>(nla_len(address)) != key.size()) continue;
    std::memcpy(key.bytes.data(), nla_data(address), key.size());
    std::memcpy(noted_[key].bytes.data(), nla_data(mac), sizeof noted_[key].bytes);
  }
}

}  // namespace kuryr::test
