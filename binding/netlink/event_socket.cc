#include "binding/netlink/event_socket.h"

#include <linux/netlink.h>
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

EventSocket::EventSocket(int protocol, const std::vector<uint32_t>& groups, std::string what)
    : what_(std::move(what)),
      socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol)) {
  const sockaddr_nl address{.nl_family = AF_NETLINK};
  if (!socket_ ||
      ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    ThrowErrno(what_);
  for (const uint32_t group : groups) {
    if (::setsockopt(socket_.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) != 0)
      ThrowErrno(what_);
  }
}

void EventSocket::Await(const Deadline& deadline) const {
  std::array<pollfd, 2> fds = {{{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                                {.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0}}};
  const auto wait = std::min(deadline.Remaining(), std::chrono::milliseconds(3'600'000));
  const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(wait.count()));
  if (ready < 0 && errno != EINTR) ThrowErrno(what_);
  if (ready > 0 && fds[1].revents != 0) ThrowErrno(ECANCELED, what_);
  if (ready == 0 && deadline.Remaining().count() == 0) ThrowErrno(ETIMEDOUT, what_);
}

bool EventSocket::Next(const Deadline& deadline, const std::function<void(nlmsghdr&)>& take) {
  if (std::exchange(is_first_, false)) return false;
  Await(deadline);
  alignas(nlmsghdr) std::array<char, 65536> buffer;
  ssize_t size = 0;
  while ((size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0)) > 0) {
    auto* message = reinterpret_cast<nlmsghdr*>(buffer.data());
    int left = static_cast<int>(size);
    for (; nlmsg_ok(message, left) != 0; message = nlmsg_next(message, &left)) take(*message);
  }
  if (size < 0 && errno == ENOBUFS) return false;
  if (size < 0 && errno != EAGAIN && errno != EINTR) ThrowErrno(what_);
  return true;
}

}  // namespace kuryr::binding
