#include "service/client_queue.h"

#include <algorithm>
#include <utility>

namespace kuryr::service {

void ClientQueue::Add(Connection connection) {
  {
    const MutexLock lock(mutex_);
    if (waiting_.size() == kMostWaiting) return;
    Share& share = shares_[connection.client];
    if (share.held == kMostHeld) return;
    ++share.held;
    waiting_.push_back(std::move(connection));
  }
  changed_.notify_one();
}

ClientQueue::Connection ClientQueue::Next(const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  auto next = waiting_.end();
  const bool found = changed_.wait(mutex_, stop, [&]() KURYR_TSA(requires_capability(mutex_)) {
    next = FindNext();
    return next != waiting_.end();
  });
  if (!found || stop.stop_requested()) return {};
  ++shares_[next->client].served;
  Connection connection = std::move(*next);
  waiting_.erase(next);
  return connection;
}

void ClientQueue::End(const std::string& client) {
  {
    const MutexLock lock(mutex_);
    const auto share = shares_.find(client);
    --share->second.served;
    if (--share->second.held == 0) shares_.erase(share);
  }
  changed_.notify_one();
}

std::list<ClientQueue::Connection>::iterator ClientQueue::FindNext() {
  return std::find_if(waiting_.begin(), waiting_.end(),
                      [this](const Connection& each) KURYR_TSA(requires_capability(mutex_)) {
                        return shares_[each.client].served < kMostServed;
                      });
}

}  // namespace kuryr::service
