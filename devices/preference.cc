#include "devices/preference.h"

#include <algorithm>
#include <tuple>

namespace kuryr::devices {
namespace {

bool HaveSamePf(const Device& a, const Device& b) { return a.root_device == b.root_device; }
bool HaveSameNode(const Device& a, const Device& b) { return a.numa_node == b.numa_node; }

using Devices = std::vector<const Device*>;
using Same = bool (*)(const Device&, const Device&);

size_t Count(const Devices& devices, const Device& device, Same same) {
  return static_cast<size_t>(std::count_if(
      devices.begin(), devices.end(), [&](const Device* other) { return same(*other, device); }));
}

/// The rank of a device; smaller is better.
auto RankOf(const Device& device, const Devices& chosen, const Devices& left, size_t wanted) {
  const size_t of_pf = Count(left, device, HaveSamePf);
  const size_t of_node = Count(left, device, HaveSameNode);
  const bool is_enough = of_pf >= wanted;
  // Prefers the smallest physical function with enough devices, or else the largest.
  const size_t size = is_enough ? of_pf : left.size() - of_pf;
  return std::tuple(chosen.size() - Count(chosen, device, HaveSamePf),
                    chosen.size() - Count(chosen, device, HaveSameNode), !is_enough,
                    of_node < wanted, size, device.id);
}

}  // namespace

std::vector<std::string> Prefer(const Choice& choice) {
  Devices chosen;
  Devices left;
  for (const Device& device : choice.available)
    (choice.mandatory.contains(device.id) ? chosen : left).push_back(&device);
  while (chosen.size() < choice.size && !left.empty()) {
    const size_t wanted = choice.size - chosen.size();
    const auto best = std::min_element(left.begin(), left.end(), [&](const auto* a, const auto* b) {
      return RankOf(*a, chosen, left, wanted) < RankOf(*b, chosen, left, wanted);
    });
    chosen.push_back(*best);
    left.erase(best);
  }
  std::vector<std::string> ids;
  for (const Device* device : chosen) ids.push_back(device->id);
  return ids;
}

}  // namespace kuryr::devices
