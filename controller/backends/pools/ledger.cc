#include "controller/backends/pools/ledger.h"

#include <algorithm>
#include <iterator>

namespace kuryr::controller::pools {

const Holder* Ledger::Claim(const Resource& resource, const Holder& holder, Right right) {
  const auto [entry, is_new] = holders_.try_emplace(resource, Claimant{&holder, right});
  Claimant& first = entry->second;
  if (is_new) return &holder;
  if (first.holder == &holder) {
    first.right = std::min(first.right, right);
    return &holder;
  }
  auto waits = WaitingOf(resource, holder);
  if (waits == waiting_.end()) waits = waiting_.emplace(resource, Claimant{&holder, right});
  waits->second.right = std::min(waits->second.right, right);
  if (waits->second.right < first.right) std::swap(waits->second, first);
  return first.holder;
}

void Ledger::Lend(const Resource& resource, const Holder& lender, const Holder& holder) {
  holders_.at(resource) = {.holder = &holder};
  waiting_.emplace(resource, Claimant{.holder = &lender});
}

Ledger::Waiting::iterator Ledger::WaitingOf(const Resource& resource, const Holder& holder) {
  const auto [begin, end] = waiting_.equal_range(resource);
  const auto found =
      std::find_if(begin, end, [&](const auto& claim) { return claim.second.holder == &holder; });
  return found == end ? waiting_.end() : found;
}

Ledger::Waiting::iterator Ledger::NextOf(const Resource& resource) {
  const auto [begin, end] = waiting_.equal_range(resource);
  if (begin == end) return waiting_.end();
  return std::min_element(begin, end, [](const auto& one, const auto& other) {
    return one.second.right < other.second.right;
  });
}

bool Ledger::Release(const Resource& resource, const Holder& holder) {
  const auto entry = holders_.find(resource);
  if (entry == holders_.end()) return false;
  const auto waits = WaitingOf(resource, holder);
  if (waits != waiting_.end()) waiting_.erase(waits);
  if (entry->second.holder != &holder) return false;
  const auto next = NextOf(resource);
  if (next == waiting_.end()) {
    holders_.erase(entry);
    return true;
  }
  entry->second = next->second;
  waiting_.erase(next);
  return false;
}

bool Ledger::IsOthers(const Resource& resource) const {
  const auto entry = holders_.find(resource);
  return entry != holders_.end() && entry->second.right == Right::kOthers;
}

const Holder* Ledger::Find(const Resource& resource) const {
  const auto entry = holders_.find(resource);
  return entry == holders_.end() ? nullptr : entry->second.holder;
}

std::vector<const Holder*> Ledger::FindAll(const Resource& resource) const {
  std::vector<const Holder*> all;
  if (const Holder* holder = Find(resource)) all.push_back(holder);
  const auto [begin, end] = waiting_.equal_range(resource);
  std::transform(begin, end, std::back_inserter(all),
                 [](const auto& claim) { return claim.second.holder; });
  return all;
}

std::vector<Number> Ledger::NumbersAt(const Resource& first, Number last) const {
  const Resource end = {.number = last, .pool = first.pool, .kind = first.kind};
  std::vector<Number> numbers;
  for (auto entry = holders_.lower_bound(first); entry != holders_.end() && !(end < entry->first);
       ++entry)
    numbers.push_back(entry->first.number);
  return numbers;
}

}  // namespace kuryr::controller::pools
