#include "devices/selector.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace kuryr::devices {
namespace {

std::optional<uint32_t> ParseNumber(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// "3" or "3-7".
std::optional<std::pair<uint32_t, uint32_t>> ParseRange(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = ParseNumber(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : ParseNumber(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return std::pair(*first, *last);
}

template <typename Value>
bool Fits(const std::vector<Value>& wanted, const Value& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

bool Fits(const std::vector<FunctionSet>& wanted, const std::string& pf,
          const std::optional<uint32_t>& number) {
  return wanted.empty() ||
         std::any_of(wanted.begin(), wanted.end(),
                     [&](const FunctionSet& functions) { return functions.Has(pf, number); });
}

}  // namespace

std::optional<FunctionSet> FunctionSet::Parse(const std::string& text) {
  const size_t hash = text.find('#');
  FunctionSet functions{.pf = text.substr(0, hash)};
  if (functions.pf.empty()) return std::nullopt;
  if (hash == std::string::npos) return functions;
  functions.numbers.emplace();
  for (size_t begin = hash + 1; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const auto range = ParseRange(std::string_view(text).substr(begin, end - begin));
    if (!range) return std::nullopt;
    functions.numbers->push_back(*range);
    begin = end + 1;
  }
  return functions;
}

bool FunctionSet::Has(const std::string& pf_of_device,
                      const std::optional<uint32_t>& number) const {
  if (pf_of_device != pf) return false;
  if (!numbers) return true;
  return number && std::any_of(numbers->begin(), numbers->end(), [&](const auto& range) {
           return *number >= range.first && *number <= range.second;
         });
}

bool Selector::Matches(const Device& device) const {
  if (is_rdma && device.rdma_nodes.empty() && device.rdma_name.empty()) return false;
  if (vdpa_type && (!device.vdpa || device.vdpa->type != *vdpa_type)) return false;
  if (!pkeys.empty() && (!device.pkey || !Fits(pkeys, *device.pkey))) return false;
  return Fits(vendors, device.vendor) && Fits(codes, device.code) && Fits(drivers, device.driver) &&
         Fits(pci_addresses, device.function.ToString()) && Fits(acpi_indexes, device.acpi_index) &&
         Fits(link_types, device.link_type) && Fits(aux_types, device.aux_type) &&
         Fits(ddp_profiles, device.ddp_profile) && Fits(pf_names, device.pf, device.number) &&
         Fits(root_devices, device.root_device.ToString(), device.number);
}

}  // namespace kuryr::devices
