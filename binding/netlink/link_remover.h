#pragma once

#include <condition_variable>
#include <exception>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "base/event_fd.h"
#include "binding/netlink/link.h"

namespace kuryr::binding {

class Netns;
class RouteSocket;

/// Removes links. The kernel forgets a link within some 2 ms, and answers 15 ms later: before it
/// frees the memory, it waits for all its readers. A thread of its own waits for that answer. What
/// is asked for while links of the host are being forgotten goes with one request, as a group of
/// links (IFLA_GROUP). Thread-safe.
class LinkRemover {
 public:
  LinkRemover() = default;
  LinkRemover(const LinkRemover&) = delete;
  LinkRemover& operator=(const LinkRemover&) = delete;
  /// Waits for the kernel's answers.
  ~LinkRemover() = default;

  /// Returns when these links are gone, by whomever (WaitUntilGone, link_watch.h). `host` is of the
  /// namespace that all callers' are of. Throws as RouteSocket::DeleteLink; then the others may be
  /// gone.
  void Remove(RouteSocket& host, const std::vector<Link>& links);
  /// Removes one link of another namespace, which the calling thread visits meanwhile.
  void RemoveIn(const Netns& netns, const Link& link);

 private:
  struct Order {
    const std::vector<Link>& links;
    bool done = false;
    std::exception_ptr failure = nullptr;
  };
  /// For each list of a request, the failure that keeps it; a caller takes its own away.
  using Failures = std::vector<std::exception_ptr>;
  using Answer = std::shared_future<std::shared_ptr<Failures>>;

  /// The calling thread is in the links' namespace, and so is `host`.
  void Carry(RouteSocket& host, const std::vector<Order*>& orders) noexcept;
  /// Sets `answered` before the answer is there. Throws std::system_error where there can be no
  /// thread.
  Answer Send(const std::vector<std::vector<Link>>& lists,
              const std::shared_ptr<EventFd>& answered);
  /// Until few enough requests have no answer.
  void WaitForTurn();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Order*> waiting_;
  bool busy_ = false;  ///< one of the callers is removing links of the host
  std::list<Answer> unanswered_;
};

}  // namespace kuryr::binding
