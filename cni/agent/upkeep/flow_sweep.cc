#include "cni/agent/upkeep/flow_sweep.h"

#include <chrono>
#include <exception>
#include <string>

#include "base/log.h"

namespace kuryr::cni {
namespace {

constexpr std::chrono::minutes kFlowSweepEvery{5};
constexpr std::chrono::seconds kFlowSweepTime{5};

}  // namespace

void FlowSweep::Begin(Upkeep& upkeep) { upkeep.AddAfter(*this, "", {}); }

bool FlowSweep::Try(Upkeep& upkeep, const std::string& key, const Deadline& deadline) {
  upkeep.AddAfter(*this, key, kFlowSweepEvery);
  try {
    const size_t ports = node_.binding.RemoveStrayFlows(deadline.AtMost(kFlowSweepTime));
    if (ports != 0)
      Log(LogLevel::kInfo, "removed flows of ports that are gone",
          {{"ports", std::to_string(ports)}});
  } catch (const std::exception& e) {
    Log(LogLevel::kDebug, "flows of ports that are gone cannot be looked for",
        {{"error", e.what()}});
  }
  return true;
}

}  // namespace kuryr::cni
