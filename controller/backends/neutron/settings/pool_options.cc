#include "controller/backends/neutron/settings/pool_options.h"

#include "base/error.h"
#include "controller/backends/neutron/settings/pod_defaults.h"

namespace kuryr::controller::neutron {
namespace {

constexpr uint32_t kMostPorts = 1000;
constexpr uint32_t kMostBatch = 100;
constexpr uint32_t kLongestInterval = 86'400;

/// As the original pairs them: nested-macvlan has none.
bool IsEnabled(const Option& option, PodVifDriver driver) {
  if (!option.set() || *option.value == "noop") return false;
  const std::string value = "\"" + Printable(*option.value) + "\"";
  if (*option.value != "neutron" && *option.value != "nested")
    Refuse(option.where, value + "; expected noop, neutron or nested");
  const PodVifDriver pooled =
      *option.value == "neutron" ? PodVifDriver::kNeutronVif : PodVifDriver::kNestedVlan;
  if (driver != pooled) {
    Refuse(option.where, value + " does not go with pod_vif_driver; expected neutron with " +
                             "neutron-vif, nested with nested-vlan, or noop");
  }
  return true;
}

}  // namespace

PoolOptions ReadPoolOptions(const ConfigFiles& files, PodVifDriver driver) {
  PoolOptions options;
  options.enabled = IsEnabled(files.Find("kubernetes", "vif_pool_driver"), driver);
  Take(files.Find("vif_pool", "ports_pool_min"), options.least, 0, kMostPorts);
  const Option most = files.Find("vif_pool", "ports_pool_max");
  Take(most, options.most, 0, kMostPorts);
  Take(files.Find("vif_pool", "ports_pool_batch"), options.batch, 1, kMostBatch);
  Take(files.Find("vif_pool", "ports_pool_update_frequency"), options.interval, kLongestInterval);
  if (options.most != 0 && options.most < options.least)
    Refuse(most.where, "is less than ports_pool_min, which is " + std::to_string(options.least));
  return options;
}

}  // namespace kuryr::controller::neutron
