#include "binding/netlink/link_remover.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/rollback.h"
#include "binding/netlink/link_watch.h"
#include "binding/netlink/route_socket.h"
#include "binding/netns.h"

namespace kuryr::binding {
namespace {

/// After so long without an answer something in the kernel holds a link for good.
constexpr std::chrono::seconds kLongestAnswer{60};
/// Requests that wait at one time, with a thread each; about.
constexpr size_t kMostUnanswered = 16;

/// The kernel has no list of groups that are in use; 0 is every link's from its birth.
uint32_t UnusedGroup() {
  std::random_device random;
  return std::uniform_int_distribution<uint32_t>(1, UINT32_MAX)(random);
}

void DeleteAsGroup(RouteSocket& host, const std::vector<Link>& links) {
  const uint32_t group = UnusedGroup();
  bool any = false;
  for (const Link& link : links) any = host.SetGroup(link, group) || any;
  if (any) host.DeleteGroup(group);
}

/// The failure that keeps one list of links from going; nullptr when there is none.
std::exception_ptr Delete(RouteSocket& host, const std::vector<Link>& links) noexcept {
  try {
    for (const Link& link : links) host.DeleteLink(link);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

/// For each list, the failure that keeps it from going.
std::vector<std::exception_ptr> Delete(RouteSocket& host,
                                       const std::vector<std::vector<Link>>& lists) noexcept {
  std::vector<Link> all;
  for (const auto& links : lists) all.insert(all.end(), links.begin(), links.end());
  std::vector<std::exception_ptr> failures(lists.size());
  try {
    if (all.size() > 1) {
      DeleteAsGroup(host, all);
      return failures;
    }
  } catch (const std::exception& e) {
    // One that cannot go keeps the others: each for itself, then, with its own error.
    Log(LogLevel::kDebug, "links are not removed together", {{"error", e.what()}});
  }
  for (size_t i = 0; i < lists.size(); ++i) failures[i] = Delete(host, lists[i]);
  return failures;
}

/// Whether all are, as soon as that can be seen; false at the latest when the kernel has answered.
bool AreGone(RouteSocket& host, const std::vector<Link>& links, const EventFd& answered) noexcept {
  try {
    return std::all_of(links.begin(), links.end(), [&](const Link& link) {
      return WaitUntilGone(host, link, Deadline::After(kLongestAnswer, answered.fd()));
    });
  } catch (const std::exception& e) {
    Log(LogLevel::kDebug, "the end of links cannot be watched", {{"error", e.what()}});
    return false;
  }
}

}  // namespace

void LinkRemover::Remove(RouteSocket& host, const std::vector<Link>& links) {
  if (links.empty()) return;
  Order own{.links = links};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&own);
  while (!own.done) {
    if (busy_) {
      changed_.wait(lock);
      continue;
    }
    busy_ = true;
    const std::vector<Order*> orders = std::exchange(waiting_, {});
    lock.unlock();
    Carry(host, orders);
    lock.lock();
    for (Order* order : orders) order->done = true;
    busy_ = false;
    changed_.notify_all();
  }
  if (own.failure) std::rethrow_exception(own.failure);
}

void LinkRemover::RemoveIn(const Netns& netns, const Link& link) {
  const NetnsGuard guard(netns);
  RouteSocket inside;
  const std::vector<Link> links = {link};
  Order own{.links = links};
  Carry(inside, {&own});
  if (own.failure) std::rethrow_exception(own.failure);
}

void LinkRemover::Carry(RouteSocket& host, const std::vector<Order*>& orders) noexcept {
  std::vector<std::vector<Link>> lists;
  lists.reserve(orders.size());
  for (const Order* order : orders) lists.push_back(order->links);
  try {
    const auto answered = std::make_shared<EventFd>();
    const Answer answer = Send(lists, answered);
    for (size_t i = 0; i < orders.size(); ++i) {
      if (!AreGone(host, lists[i], *answered)) orders[i]->failure = std::move(answer.get()->at(i));
    }
  } catch (const std::system_error&) {
    // No thread or no descriptor for it, and nothing sent.
    const Failures failures = Delete(host, lists);
    for (size_t i = 0; i < orders.size(); ++i) orders[i]->failure = failures[i];
  }
}

LinkRemover::Answer LinkRemover::Send(const std::vector<std::vector<Link>>& lists,
                                      const std::shared_ptr<EventFd>& answered) {
  WaitForTurn();
  // The thread's socket is of the caller's namespace, and is closed with the thread. The answer is
  // kept until a caller looks.
  Answer answer =
      std::async(std::launch::async, [lists, kept = answered, socket = RouteSocket()]() mutable {
        RouteSocket own_socket = std::move(socket);
        const std::shared_ptr<EventFd> own_answered = std::move(kept);
        const Rollback tell([&] { own_answered->Set(); });
        return std::make_shared<Failures>(Delete(own_socket, lists));
      });
  const std::lock_guard lock(mutex_);
  return unanswered_.emplace_back(std::move(answer));
}

void LinkRemover::WaitForTurn() {
  Answer oldest;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(unanswered_, [](const Answer& answer) {
      return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    if (unanswered_.size() < kMostUnanswered) return;
    oldest = unanswered_.front();
  }
  oldest.wait();
}

}  // namespace kuryr::binding
