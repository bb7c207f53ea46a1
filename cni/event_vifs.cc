#include "cni/event_vifs.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace kuryr::cni {

std::optional<std::vector<vif::PodVif>> VifsOf(const watcher::WatchEvent& event) {
  try {
    return vif::VifsOf(*event.object);
  } catch (const ParseError& e) {
    throw ParseError(StringAt(*event.object, "kind") + " " + event.name_space + "/" + event.name +
                         ": " + e.path(),
                     e.reason());
  }
}

}  // namespace kuryr::cni
