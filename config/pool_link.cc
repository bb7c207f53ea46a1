#include "config/pool_link.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/names.h"

namespace kuryr {
namespace {

constexpr std::pair<std::string_view, VifKind> kKinds[] = {{"ovs", VifKind::kOvs},
                                                           {"bridge", VifKind::kBridge},
                                                           {"macvlan", VifKind::kMacvlan},
                                                           {"vlan", VifKind::kVlan}};

VifKind KindOf(const ConfigFiles& files, const std::string& section) {
  const Option option = files.Find(section, "vif");
  if (!option.set()) return VifKind::kOvs;
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const auto& known) { return known.first == *option.value; });
  if (found == std::end(kKinds))
    Refuse(option.where,
           "\"" + Printable(*option.value) + "\" is none of ovs, bridge, macvlan and vlan");
  return found->second;
}

void RefuseBridges(const ConfigFiles& files, const std::string& section) {
  for (const char* name : {"bridge", "bridge_interface"}) {
    const Option option = files.Find(section, name);
    if (option.set())
      Refuse(option.where,
             "is for vif = ovs and bridge; pods of this pool stand on the node's "
             "link ([binding] link_iface): remove it");
  }
}

void TakeLinkName(const Option& option, std::string& target) {
  if (!option.set()) return;
  if (!IsLinkName(*option.value) || option.value->find('%') != std::string::npos)
    Refuse(option.where, "\"" + Printable(*option.value) + "\" is no interface name (" +
                             kLinkNameRule + ", no '%')");
  target = *option.value;
}

}  // namespace

PoolLink ReadPoolLink(const ConfigFiles& files, const std::string& section) {
  PoolLink link{.kind = KindOf(files, section)};
  if (link.kind == VifKind::kMacvlan || link.kind == VifKind::kVlan) {
    RefuseBridges(files, section);
    return link;
  }
  if (link.kind == VifKind::kOvs) link.bridge = "br-int";
  TakeLinkName(files.Find(section, "bridge"), link.bridge);
  if (link.bridge.empty())
    Refuse(files.WhereOf(section, "bridge"), "is missing: vif = bridge needs its name");
  TakeLinkName(files.Find(section, "bridge_interface"), link.bridge_interface);
  return link;
}

}  // namespace kuryr
