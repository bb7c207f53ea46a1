#include <algorithm>
#include <string>
#include <vector>

#include "binding/netlink/sysctl.h"
#include "binding/node/forwarding.h"
#include "binding/node/node_part.h"

namespace kuryr::binding {
namespace {

struct Setting {
  std::string name;
  char value = '1';
  void (*switch_on)() = nullptr;  ///< of a setting of the whole node
};

bool HasFamily(const ManagementPort& port, IpFamily family) {
  return std::any_of(port.addresses.begin(), port.addresses.end(),
                     [&](const IpNetwork& address) { return address.address.family == family; });
}

/// The node's forwarding first: when it is switched on, the kernel writes the links' own settings.
std::vector<Setting> SettingsFor(const ManagementPort& port) {
  const std::string ipv4 = "net/ipv4/conf/" + port.name + "/";
  const std::string ipv6 = "net/ipv6/conf/" + port.name + "/";
  std::vector<Setting> settings;
  if (HasFamily(port, IpFamily::kIpv4)) {
    settings.push_back({.name = "net/ipv4/ip_forward", .switch_on = ForwardIpv4});
    settings.push_back({.name = ipv4 + "forwarding"});
    // Loose: the answer of a pod to a Service's client may leave by another link.
    settings.push_back({.name = ipv4 + "rp_filter", .value = '2'});
    settings.push_back({.name = ipv4 + "send_redirects", .value = '0'});
  }
  if (HasFamily(port, IpFamily::kIpv6)) {
    settings.push_back({.name = "net/ipv6/conf/all/forwarding", .switch_on = ForwardIpv6});
    settings.push_back({.name = ipv6 + "disable_ipv6", .value = '0'});
    settings.push_back({.name = ipv6 + "forwarding"});
    // A pod could become the node's router otherwise.
    settings.push_back({.name = ipv6 + "accept_ra", .value = '0'});
  }
  return settings;
}

/// A kernel without the setting has none of the family, which the address's part tells.
bool IsSet(const Setting& setting) {
  return ReadSysctl(setting.name).value_or(setting.value) == setting.value;
}

class SettingsPart final : public NodePart {
 public:
  explicit SettingsPart(const NodePlan& plan) : settings_(SettingsFor(plan.port)) {}

  [[nodiscard]] const char* name() const override { return "settings"; }

  [[nodiscard]] Differences Check(const Deadline& /*deadline*/) override {
    Differences found;
    for (const Setting& setting : settings_) {
      if (IsSet(setting)) continue;
      found.push_back({.kind = DifferenceKind::kSetting,
                       .what = setting.name,
                       .text = setting.name + " is not " + setting.value,
                       .live_safe = true});
    }
    return found;
  }

  void Make(const Deadline& /*deadline*/) override {
    for (const Setting& setting : settings_) {
      if (IsSet(setting)) continue;
      if (setting.switch_on != nullptr) {
        setting.switch_on();
      } else {
        SetSysctl(setting.name, setting.value);
      }
    }
  }

 private:
  const std::vector<Setting> settings_;
};

}  // namespace

std::unique_ptr<NodePart> NewSettingsPart(const NodePlan& plan) {
  return std::make_unique<SettingsPart>(plan);
}

}  // namespace kuryr::binding
