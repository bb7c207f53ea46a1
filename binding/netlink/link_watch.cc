#include "binding/netlink/link_watch.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/unique_fd.h"

namespace kuryr::binding {
namespace {

/// Lets nothing through but one type of event of one link: on a busy node others come all the time.
class EventsOf {
 public:
  EventsOf(uint16_t type, int index)
      : steps_{{BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(nlmsghdr, nlmsg_type)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(type), 0, 3),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NLMSG_HDRLEN + offsetof(ifinfomsg, ifi_index)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(static_cast<uint32_t>(index)), 0, 1),
                BPF_STMT(BPF_RET | BPF_K, UINT32_MAX), BPF_STMT(BPF_RET | BPF_K, 0)}} {}

  [[nodiscard]] sock_fprog program() {
    return {.len = static_cast<uint16_t>(steps_.size()), .filter = steps_.data()};
  }

 private:
  std::array<sock_filter, 6> steps_;
};

UniqueFd OpenEvents(uint16_t type, const Link& link) {
  UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  const sockaddr_nl groups{.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
  EventsOf filter(type, link.index);
  const sock_fprog program = filter.program();
  if (!socket ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&groups), sizeof groups) != 0)
    ThrowErrno("listen to what becomes of link " + link.name);
  return socket;
}

/// Events only wake the look at the link: some may have been lost (ENOBUFS).
void Drain(const UniqueFd& events) {
  std::array<char, 8192> buffer{};
  while (::recv(events.get(), buffer.data(), buffer.size(), 0) >= 0 || errno == ENOBUFS) {
  }
}

/// Until it is true, asked anew after each such event. False at the deadline, or when cancelled.
bool WaitUntil(uint16_t type, const Link& link, const Deadline& deadline,
               const std::function<bool()>& is_so) {
  const UniqueFd events = OpenEvents(type, link);
  std::array<pollfd, 2> fds = {{{.fd = events.get(), .events = POLLIN, .revents = 0},
                                {.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0}}};
  while (!is_so()) {
    const int ready =
        ::poll(fds.data(), fds.size(), static_cast<int>(deadline.Remaining().count()));
    if (ready < 0 && errno != EINTR) ThrowErrno("wait for an event of link " + link.name);
    if (ready == 0 || (ready > 0 && fds[1].revents != 0)) return false;
    Drain(events);
  }
  return true;
}

}  // namespace

bool WaitUntilGone(RouteSocket& host, const Link& link, const Deadline& deadline) {
  return WaitUntil(RTM_DELLINK, link, deadline, [&] { return !host.FindLink(link.index); });
}

bool WaitUntilRunning(RouteSocket& socket, const Link& link, const Deadline& deadline) {
  if (link.running) return true;
  std::optional<Link> now;
  return WaitUntil(RTM_NEWLINK, link, deadline,
                   [&] {
                     now = socket.FindLink(link.index);
                     return !now || now->running;
                   }) &&
         now;
}

}  // namespace kuryr::binding
