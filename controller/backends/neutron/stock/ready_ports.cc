#include "controller/backends/neutron/stock/ready_ports.h"

#include <algorithm>
#include <utility>

namespace kuryr::controller::neutron {

void PoolCounts::Add(const PoolCounts& other) {
  ready += other.ready;
  claims += other.claims;
  conflicts += other.conflicts;
  misses += other.misses;
  returns += other.returns;
  fills += other.fills;
  failed_fills += other.failed_fills;
}

std::optional<ReadyPort> ReadyPorts::Take(const PoolKey& key) {
  const MutexLock lock(mutex_);
  std::deque<ReadyPort>& ports = pools_[key].ports;
  if (ports.empty()) return std::nullopt;
  ReadyPort port = std::move(ports.front());
  ports.pop_front();
  if (listing_) touched_.insert(port.id);
  return port;
}

void ReadyPorts::Put(const PoolKey& key, ReadyPort port) {
  const MutexLock lock(mutex_);
  Add(key, std::move(port));
}

void ReadyPorts::Room::Put(ReadyPort port) {
  const MutexLock lock(ports_.mutex_);
  ports_.Add(key_, std::move(port));
  if (count_ == 0) return;
  --count_;
  --ports_.pools_[key_].coming;
}

void ReadyPorts::Add(const PoolKey& key, ReadyPort port) {
  if (listing_) touched_.insert(port.id);
  std::deque<ReadyPort>& ports = pools_[key].ports;
  const bool known = std::any_of(ports.begin(), ports.end(),
                                 [&](const ReadyPort& other) { return other.id == port.id; });
  if (!known) ports.push_back(std::move(port));
}

std::vector<ReadyPort> ReadyPorts::TakeWith(const std::vector<IpAddress>& addresses,
                                            const std::optional<MacAddress>& mac) {
  const MutexLock lock(mutex_);
  std::vector<ReadyPort> taken;
  const auto has = [&](const ReadyPort& port) {
    return port.mac == mac ||
           std::find_first_of(port.addresses.begin(), port.addresses.end(), addresses.begin(),
                              addresses.end()) != port.addresses.end();
  };
  for (auto& [key, pool] : pools_) {
    for (const ReadyPort& port : pool.ports) {
      if (!has(port)) continue;
      if (listing_) touched_.insert(port.id);
      taken.push_back(port);
    }
    std::erase_if(pool.ports, has);
  }
  return taken;
}

std::optional<ReadyPort> ReadyPorts::TakeAny(const std::vector<std::string>& subnets) {
  const MutexLock lock(mutex_);
  Pool* largest = nullptr;
  for (auto& [key, pool] : pools_) {
    if (!subnets.empty() && key.subnets != subnets) continue;
    if (largest == nullptr || largest->ports.size() < pool.ports.size()) largest = &pool;
  }
  if (largest == nullptr || largest->ports.empty()) return std::nullopt;
  ReadyPort port = std::move(largest->ports.front());
  largest->ports.pop_front();
  if (listing_) touched_.insert(port.id);
  return port;
}

size_t ReadyPorts::SizeOf(const PoolKey& key) const {
  const auto pool = pools_.find(key);
  return pool == pools_.end() ? 0 : pool->second.ports.size() + pool->second.coming;
}

ReadyPorts::Room ReadyPorts::TakeRoom(const PoolKey& key, size_t wanted) {
  const MutexLock lock(mutex_);
  const size_t size = SizeOf(key);
  const size_t left = options_.most > size ? options_.most - size : 0;
  const size_t granted = options_.most == 0 ? wanted : std::min(wanted, left);
  pools_[key].coming += granted;
  return {*this, key, granted};
}

void ReadyPorts::GiveBack(const PoolKey& key, size_t count) {
  const MutexLock lock(mutex_);
  pools_[key].coming -= count;
}

size_t ReadyPorts::Lacking(const PoolKey& key) const {
  const MutexLock lock(mutex_);
  const size_t size = SizeOf(key);
  if (size >= options_.least || Clock::now() < rests_until_) return 0;
  const size_t wanted = std::max<size_t>(options_.batch, options_.least - size);
  return options_.most == 0 ? wanted : std::min<size_t>(wanted, options_.most - size);
}

void ReadyPorts::Rest(Clock::duration time) {
  const MutexLock lock(mutex_);
  rests_until_ = std::max(rests_until_, Clock::now() + time);
}

ReadyPorts::Clock::duration ReadyPorts::RestLeft() const {
  const MutexLock lock(mutex_);
  return std::max(rests_until_ - Clock::now(), Clock::duration{});
}

void ReadyPorts::BeginListing() {
  const MutexLock lock(mutex_);
  listing_ = true;
  touched_.clear();
}

void ReadyPorts::PassOver(const std::string& id) {
  const MutexLock lock(mutex_);
  touched_.insert(id);
}

std::vector<ReadyPort> ReadyPorts::EndListing(std::vector<Listed> listed) {
  const MutexLock lock(mutex_);
  std::set<std::string> ids;
  for (const Listed& each : listed) ids.insert(each.port.id);
  DropUnlisted(ids);
  for (Listed& each : listed) {
    if (touched_.contains(each.port.id) || Refresh(each)) continue;
    pools_[each.key].ports.push_back(std::move(each.port));
  }
  listing_ = false;
  touched_.clear();
  return TakeExcess();
}

/// Drops ports that another client has deleted or taken: the list lacks them.
void ReadyPorts::DropUnlisted(const std::set<std::string>& ids) {
  for (auto& [key, pool] : pools_) {
    std::erase_if(pool.ports, [&](const ReadyPort& port) KURYR_TSA(requires_capability(mutex_)) {
      return !ids.contains(port.id) && !touched_.contains(port.id);
    });
  }
}

bool ReadyPorts::Refresh(const Listed& listed) {
  std::deque<ReadyPort>& ports = pools_[listed.key].ports;
  const auto known = std::find_if(ports.begin(), ports.end(),
                                  [&](const ReadyPort& port) { return port.id == listed.port.id; });
  if (known == ports.end()) return false;
  *known = listed.port;
  return true;
}

std::vector<ReadyPort> ReadyPorts::TakeExcess() {
  std::vector<ReadyPort> excess;
  if (options_.most == 0) return excess;
  for (auto& [key, pool] : pools_) {
    while (pool.ports.size() > options_.most) {
      excess.push_back(std::move(pool.ports.back()));
      pool.ports.pop_back();
    }
  }
  return excess;
}

void ReadyPorts::Count(const PoolKey& key, Event event) {
  const MutexLock lock(mutex_);
  PoolCounts& counts = pools_[key].counts;
  switch (event) {
    case Event::kClaim:
      ++counts.claims;
      return;
    case Event::kConflict:
      ++counts.conflicts;
      return;
    case Event::kMiss:
      ++counts.misses;
      return;
    case Event::kReturn:
      ++counts.returns;
      return;
    case Event::kFill:
      ++counts.fills;
      return;
    case Event::kFailedFill:
      ++counts.failed_fills;
      return;
  }
}

std::map<PoolKey, PoolCounts> ReadyPorts::Counts() const {
  const MutexLock lock(mutex_);
  std::map<PoolKey, PoolCounts> all;
  for (const auto& [key, pool] : pools_) {
    all[key] = pool.counts;
    all[key].ready = pool.ports.size();
  }
  return all;
}

}  // namespace kuryr::controller::neutron
