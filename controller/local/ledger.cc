#include "controller/local/ledger.h"

#include <algorithm>
#include <iterator>

namespace kuryr::controller::local {

const Holder* Ledger::Claim(const Resource& resource, const Holder& holder) {
  const auto [entry, is_new] = holders_.try_emplace(resource, &holder);
  if (is_new || entry->second == &holder) return &holder;
  const auto [begin, end] = waiting_.equal_range(resource);
  const bool waits =
      std::any_of(begin, end, [&](const auto& claim) { return claim.second == &holder; });
  if (!waits) waiting_.emplace(resource, &holder);
  return entry->second;
}

void Ledger::Lend(const Resource& resource, const Holder& lender, const Holder& holder) {
  holders_.at(resource) = &holder;
  waiting_.emplace(resource, &lender);
}

bool Ledger::Release(const Resource& resource, const Holder& holder) {
  const auto entry = holders_.find(resource);
  if (entry == holders_.end()) return false;
  const auto [begin, end] = waiting_.equal_range(resource);
  if (entry->second != &holder) {
    const auto claim =
        std::find_if(begin, end, [&](const auto& waiting) { return waiting.second == &holder; });
    if (claim != end) waiting_.erase(claim);
    return false;
  }
  if (begin == end) {
    holders_.erase(entry);
    return true;
  }
  entry->second = begin->second;
  waiting_.erase(begin);
  return false;
}

const Holder* Ledger::Find(const Resource& resource) const {
  const auto entry = holders_.find(resource);
  return entry == holders_.end() ? nullptr : entry->second;
}

std::vector<const Holder*> Ledger::FindAll(const Resource& resource) const {
  std::vector<const Holder*> all;
  if (const Holder* holder = Find(resource)) all.push_back(holder);
  const auto [begin, end] = waiting_.equal_range(resource);
  std::transform(begin, end, std::back_inserter(all),
                 [](const auto& claim) { return claim.second; });
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

}  // namespace kuryr::controller::local
