#pragma once

#include <httplib.h>

#include <array>
#include <cstddef>
#include <optional>

#include "base/deadline.h"

namespace kuryr::service {

/// A connection whose peer has so long to ask, and so long again to take the answer, all bytes
/// together. httplib's own timeouts begin anew with every byte. Not thread-safe.
class TimedStream : public httplib::Stream {
 public:
  /// Borrows both descriptors; `cancel_fd` ends what is under way.
  TimedStream(int socket, Deadline::Clock::duration time, int cancel_fd)
      : socket_(socket), time_(time), asking_(Deadline::After(time, cancel_fd)) {}

  [[nodiscard]] bool is_readable() const override;
  [[nodiscard]] bool is_writable() const override;
  ssize_t read(char* target, size_t size) override;
  /// All of it, or -1.
  ssize_t write(const char* bytes, size_t size) override;
  /// Nobody asks for addresses.
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  [[nodiscard]] socket_t socket() const override { return socket_; }

 private:
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
