#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace kuryr::fake {

/// A flag that poll() can wait for: its descriptor is readable while it is set. Thread-safe.
class Signal {
 public:
  /// Throws std::system_error.
  Signal();

  void Set() const noexcept;
  void Clear() const noexcept;
  [[nodiscard]] int fd() const noexcept { return event_.get(); }

 private:
  UniqueFd event_;
};

/// A TCP port that is bound from construction on and takes connections between Listen() and
/// Refuse(). Not thread-safe.
class Listener {
 public:
  /// `address` is an IPv4 or IPv6 address; port 0 picks a free one. Listens at once. Throws
  /// std::system_error.
  Listener(const std::string& address, uint16_t port);

  [[nodiscard]] uint16_t port() const noexcept { return port_; }
  /// The descriptor; -1 while refusing.
  [[nodiscard]] int fd() const noexcept { return listening_ ? socket_.get() : -1; }
  /// The next waiting connection, non-blocking and without Nagle's delay; empty when there is none.
  [[nodiscard]] UniqueFd Accept();

  /// From now on connecting fails with ECONNREFUSED; the port stays reserved. Idempotent.
  void Refuse();
  /// Idempotent.
  void Listen();

 private:
  void Bind();

  std::string address_;
  uint16_t port_;
  UniqueFd socket_;
  bool listening_ = false;
};

}  // namespace kuryr::fake
