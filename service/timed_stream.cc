#include "service/timed_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace kuryr::service {

/// False when the time is over.
bool TimedStream::Await(short events, const Deadline& deadline) const {
  while (true) {
    const auto left = deadline.Remaining().count();
    if (left == 0) return false;
    std::array<pollfd, 2> fds = {{{.fd = socket_, .events = events, .revents = 0},
                                  {.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0}}};
    const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0) return fds[1].revents == 0;
  }
}

bool TimedStream::is_readable() const { return next_ < end_ || Await(POLLIN, asking_); }

bool TimedStream::AwaitTarget() const { return Await(POLLOUT, answering_.value_or(asking_)); }

ssize_t TimedStream::read(char* target, size_t size) {
  if (next_ == end_) {
    if (!Await(POLLIN, asking_)) return -1;
    const ssize_t received = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (received <= 0) return received;
    next_ = 0;
    end_ = static_cast<size_t>(received);
  }
  const size_t count = std::min(size, end_ - next_);
  std::copy_n(buffer_.data() + next_, count, target);
  next_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t TimedStream::write(const char* bytes, size_t size) {
  if (!answering_) answering_ = Deadline::After(time_, asking_.cancel_fd);
  size_t done = 0;
  while (done < size) {
    if (!Await(POLLOUT, *answering_)) return -1;
    const ssize_t sent = ::send(socket_, bytes + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return -1;
    if (sent > 0) done += static_cast<size_t>(sent);
  }
  return static_cast<ssize_t>(size);
}

}  // namespace kuryr::service
