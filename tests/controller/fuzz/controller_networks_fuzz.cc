#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "base/names.h"
#include "controller/backends/backend.h"
#include "controller/plan/network_selection.h"

namespace {

using kuryr::controller::NetworkSelection;
using kuryr::controller::PlanError;

void Require(bool property) {
  if (!property) std::abort();
}

bool IsToldInPrint(const std::string& what) {
  return what.starts_with("annotation k8s.v1.cni.cncf.io/networks") && what.size() < 1000 &&
         std::all_of(what.begin(), what.end(), [](char c) { return c >= ' ' && c < 0x7f; });
}

}  // namespace

/// An accepted annotation can be planned; others are refused in a text for people.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto selections = kuryr::controller::ParseNetworkSelections(
        {reinterpret_cast<const char*>(data), size}, "default");
    Require(selections.size() <= kuryr::controller::kMostNetworks);
    std::set<std::string> ifnames = {"eth0", "lo"};
    for (const NetworkSelection& selection : selections) {
      Require(kuryr::IsDnsName(selection.name) && kuryr::IsDnsName(selection.name_space));
      Require(kuryr::IsLinkName(selection.ifname) && ifnames.insert(selection.ifname).second);
      Require(selection.addresses.size() <= 16);
      Require(!selection.mac || (selection.mac->bytes[0] & 1) == 0);
    }
    Require(std::count_if(selections.begin(), selections.end(),
                          [](const auto& selection) { return selection.has_default_route; }) <= 1);
  } catch (const PlanError& e) {
    Require(e.kind() == PlanError::Kind::kRefused && IsToldInPrint(e.what()));
  }
  return 0;
}
