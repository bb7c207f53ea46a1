#pragma once

#include <httplib.h>

#include <array>
#include <cstddef>
#include <optional>

#include "base/deadline.h"

namespace kuryr::service {

/// A connection whose peer has `time` for its whole request, and again for the whole answer.
/// httplib's own timeouts begin again with every byte. Not thread-safe.
class TimedStream : public httplib::Stream {
 public:
  /// Borrows both descriptors; `cancel_fd` ends what is under way.
  TimedStream(int socket, Deadline::Clock::duration time, int cancel_fd)
      : socket_(socket), time_(time), asking_(Deadline::After(time, cancel_fd)) {}

  [[nodiscard]] bool is_readable() const override;
#ifdef CPPHTTPLIB_VERSION_NUM  // httplib 0.20 and later
  [[nodiscard]] bool wait_readable() const override { return is_readable(); }
  [[nodiscard]] bool wait_writable() const override { return AwaitTarget(); }
  /// Its use is httplib's metrics.
  [[nodiscard]] time_t duration() const override { return 0; }
#else
  [[nodiscard]] bool is_writable() const override { return AwaitTarget(); }
#endif
  ssize_t read(char* target, size_t size) override;
  /// Writes all bytes, or returns -1.
  ssize_t write(const char* bytes, size_t size) override;
  /// Does nothing: the health server does not ask for addresses.
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  [[nodiscard]] socket_t socket() const override { return socket_; }

 private:
  [[nodiscard]] bool AwaitTarget() const;
  [[nodiscard]] bool Await(short events, const Deadline& deadline) const;

  const int socket_;
  const Deadline::Clock::duration time_;
  const Deadline asking_;
  std::optional<Deadline> answering_;  ///< set by the first byte of the answer
  std::array<char, 4096> buffer_{};    ///< httplib reads lines byte by byte
  size_t next_ = 0;
  size_t end_ = 0;
};

}  // namespace kuryr::service
