#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <vector>

#include "binding/netlink/link.h"

namespace kuryr::binding {

class RouteSocket;

/// Removes links of one network namespace. For each request the kernel waits some 15 ms for all its
/// readers, however many links the request takes away. What threads ask for meanwhile goes with one
/// request, as a group of links (IFLA_GROUP). Pays with hundreds at once, or with several of one
/// caller; where there are few, the waits of single requests overlap as well. Thread-safe.
class LinkRemover {
 public:
  /// Returns when these links are gone, by whomever. `host` is of the namespace that all callers'
  /// are of. Throws as RouteSocket::DeleteLink; then the others may be gone.
  void Remove(RouteSocket& host, const std::vector<Link>& links);

 private:
  struct Order {
    const std::vector<Link>& links;
    bool done = false;
    std::exception_ptr failure = nullptr;
  };

  static void Carry(RouteSocket& host, const std::vector<Order*>& orders) noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Order*> waiting_;
  bool busy_ = false;  ///< one of the callers is removing
};

}  // namespace kuryr::binding
