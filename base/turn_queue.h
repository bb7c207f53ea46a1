#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <utility>

namespace kuryr {

/// Values of several owners, which take turns: an owner with many values delays no other owner's
/// first one.
/// The values of one owner leave in their order. An owner without values takes no memory. Not
/// thread-safe. (round-robin queueing, RFC 970)
template <typename Owner, typename Value>
class TurnQueue {
 public:
  void Push(const Owner& owner, Value value) {
    const auto [lane, is_new] = lanes_.try_emplace(owner);
    if (is_new) turns_.push_back(lane);
    lane->second.push_back(std::move(value));
    ++size_;
  }

  /// There is one.
  [[nodiscard]] Value Pop() {
    const auto lane = turns_.front();
    turns_.pop_front();
    Value value = std::move(lane->second.front());
    lane->second.pop_front();
    --size_;
    if (lane->second.empty()) {
      lanes_.erase(lane);
    } else {
      turns_.push_back(lane);
    }
    return value;
  }

  /// Takes the value out, if the owner has it.
  void Remove(const Owner& owner, const Value& value) {
    const auto lane = lanes_.find(owner);
    if (lane == lanes_.end()) return;
    size_ -= std::erase(lane->second, value);
    if (!lane->second.empty()) return;
    std::erase(turns_, lane);
    lanes_.erase(lane);
  }

  /// Calls `act` with the first value of each owner.
  template <typename Act>
  void ForEachFirst(const Act& act) const {
    for (const auto& [owner, values] : lanes_) act(values.front());
  }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] size_t size() const noexcept { return size_; }

 private:
  using Lanes = std::map<Owner, std::deque<Value>>;

  Lanes lanes_;
  std::list<typename Lanes::iterator> turns_;
  size_t size_ = 0;
};

}  // namespace kuryr
