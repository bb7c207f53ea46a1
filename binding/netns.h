#pragma once

#include <sys/types.h>

#include <compare>
#include <optional>
#include <string>

#include "base/unique_fd.h"

namespace kuryr::binding {

/// Identity of a network namespace while it lives (nsfs device and inode, stat(2)).
struct NetnsId {
  dev_t device = 0;
  ino_t inode = 0;

  auto operator<=>(const NetnsId&) const = default;
};

/// The identity of the file at `path`, without opening it; nullopt when there is none.
[[nodiscard]] std::optional<NetnsId> FindNetnsId(const std::string& path);

/// An open network namespace: keeps it alive, never creates one. Immutable, usable from several
/// threads.
class Netns {
 public:
  /// Throws std::system_error: ENOENT and others from open(2), EINVAL when the path is no network
  /// namespace (ioctl_ns(2) NS_GET_NSTYPE).
  [[nodiscard]] static Netns Open(const std::string& path);
  /// std::nullopt when there is no network namespace at `path` (any more).
  [[nodiscard]] static std::optional<Netns> OpenIfExists(const std::string& path);
  /// Takes over a descriptor that came from elsewhere (SCM_RIGHTS). Throws std::system_error,
  /// EINVAL, when it is no network namespace.
  [[nodiscard]] static Netns FromFd(UniqueFd fd);
  /// The calling thread's own.
  [[nodiscard]] static Netns Current();

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] const NetnsId& id() const noexcept { return id_; }

 private:
  explicit Netns(UniqueFd fd);

  UniqueFd fd_;
  NetnsId id_;
};

/// Puts the calling thread into a namespace for its own lifetime. Only for opening sockets and
/// files of that namespace.
class NetnsGuard {
 public:
  explicit NetnsGuard(const Netns& netns);
  /// A thread stuck in a pod's namespace would plug the next pod into this one: terminates when it
  /// can't return.
  ~NetnsGuard();
  NetnsGuard(const NetnsGuard&) = delete;
  NetnsGuard& operator=(const NetnsGuard&) = delete;

 private:
  Netns previous_;
};

}  // namespace kuryr::binding
