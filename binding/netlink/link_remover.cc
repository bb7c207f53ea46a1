#include "binding/netlink/link_remover.h"

#include <random>
#include <utility>

#include "base/log.h"
#include "binding/netlink/route_socket.h"

namespace kuryr::binding {
namespace {

/// The kernel has no list of groups that are in use; 0 is every link's from its birth.
uint32_t UnusedGroup() {
  std::random_device random;
  return std::uniform_int_distribution<uint32_t>(1, UINT32_MAX)(random);
}

void RemoveAsGroup(RouteSocket& host, const std::vector<Link>& links) {
  const uint32_t group = UnusedGroup();
  bool any = false;
  for (const Link& link : links) any = host.SetGroup(link, group) || any;
  if (any) host.DeleteGroup(group);
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

void LinkRemover::Carry(RouteSocket& host, const std::vector<Order*>& orders) noexcept {
  std::vector<Link> all;
  for (const Order* order : orders) all.insert(all.end(), order->links.begin(), order->links.end());
  try {
    if (all.size() > 1) return RemoveAsGroup(host, all);
  } catch (const std::exception& e) {
    // One that cannot go keeps the others: each for itself, then, with its own error.
    Log(LogLevel::kDebug, "links are not removed together", {{"error", e.what()}});
  }
  for (Order* order : orders) {
    try {
      for (const Link& link : order->links) host.DeleteLink(link);
    } catch (...) {
      order->failure = std::current_exception();
    }
  }
}

}  // namespace kuryr::binding
