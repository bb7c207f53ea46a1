#include "binding/node/chassis.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "base/chassis_mark.h"
#include "base/error.h"
#include "binding/node/node_part.h"
#include "binding/ovs/node_ids.h"

namespace kuryr::binding {
namespace {

constexpr const char* kHostName = "hostname";
constexpr const char* kSystemId = "system-id";
constexpr const char* kOvnBridge = "ovn-bridge";
constexpr const char* kChassisMark = "ovn-cms-options";
/// While ovn-northd and ovn-controller are of different releases, ovn-controller changes nothing:
/// otherwise the flows of a newer ovn-northd could cut off pods that run (ovn-controller(8)).
constexpr const char* kMatchNorthd = "ovn-match-northd-version";
/// When ovn-controller starts, it keeps the flows that are there for these milliseconds, and
/// computes its own meanwhile. With OVN before 25.09, pods would have no network in between
/// otherwise.
constexpr const char* kWaitBeforeClear = "ovn-ofctrl-wait-before-clear";
constexpr const char* kComputed = "5000";
constexpr std::array kKeys = {"ovn-remote", "ovn-encap-type", "ovn-encap-ip",
                              kOvnBridge,   kHostName,        kSystemId,
                              kChassisMark, kMatchNorthd,     kWaitBeforeClear};

/// The key beside one that the agent has set. Its value is the one that was set: another value is
/// somebody else's.
std::string MarkOf(const std::string& key) { return "kuryr-" + key; }

bool IsOurs(const ExternalIds& there, const std::string& key) {
  const auto value = there.find(key);
  return value != there.end() && Includes(there, {{MarkOf(key), value->second}});
}

/// Open vSwitch records the machine's own name at its start, which may have a domain beside the
/// Node's name, or lack it (ovs-ctl(8), record-hostname-if-not-set). Nobody has chosen it.
bool IsRecordOf(const std::string& node, const std::string& key, const std::string& value) {
  return key == kHostName && !node.empty() && value != node &&
         (value.starts_with(node + ".") || node.starts_with(value + "."));
}

ExternalIds WantedIds(const NodePlan& plan) {
  if (!plan.chassis.is_managed) return {};
  const ChassisMark mark = {
      .cluster = plan.chassis.cluster, .node = plan.name, .machine = plan.machine};
  ExternalIds wanted = {{"ovn-remote", plan.chassis.sb_connection},
                        {"ovn-encap-type", "geneve"},
                        {kOvnBridge, plan.port.bridge},
                        {kHostName, plan.name},
                        {kSystemId, plan.name},
                        {kChassisMark, mark.ToString()},
                        {kMatchNorthd, "true"},
                        {kWaitBeforeClear, kComputed}};
  if (!plan.addresses.empty()) wanted["ovn-encap-ip"] = plan.addresses.front().ToString();
  return wanted;
}

struct IdChanges {
  ExternalIds removed;
  ExternalIds added;
};

IdChanges ChangesTo(const ExternalIds& wanted, const ExternalIds& there) {
  IdChanges changes;
  for (const std::string key : kKeys) {
    const auto value = there.find(key);
    const auto mark = there.find(MarkOf(key));
    const auto planned = wanted.find(key);
    const bool is_replaced = planned != wanted.end() && value != there.end() &&
                             IsRecordOf(planned->second, key, value->second);
    const bool is_ours = IsOurs(there, key) || is_replaced;
    const bool stays = is_ours && planned != wanted.end() && planned->second == value->second;
    if (stays) continue;
    if (mark != there.end()) changes.removed.insert(*mark);
    if (is_ours) changes.removed.insert(*value);
    if (planned == wanted.end() || (value != there.end() && !is_ours)) continue;
    changes.added.insert(*planned);
    changes.added.emplace(MarkOf(key), planned->second);
  }
  return changes;
}

/// Why OVN binds no port of the node; empty where nothing is known against it.
std::string WhyUnbound(const NodePlan& plan, const ExternalIds& there) {
  const auto value = [&](const char* key) {
    const auto found = there.find(key);
    return found == there.end() ? "" : found->second;
  };
  const auto differs = [&](const char* key, const std::string& instead) {
    return std::string("external_ids:") + key + " of Open vSwitch is " + Printable(value(key)) +
           " instead of " + instead + ", so OVN binds no port of the node";
  };
  if (value("ovn-encap-ip").empty()) return "the Node has no InternalIP for tunnels of OVN";
  if (value(kOvnBridge) != plan.port.bridge) return differs(kOvnBridge, plan.port.bridge);
  if (value(kHostName) != plan.name && value(kSystemId) != plan.name)
    return differs(kHostName, plan.name);
  return "";
}

NodeIds IdsOf(const DriverContext& context) {
  return NodeIds(context.config.ovsdb_connection, &context.shared.ovsdb);
}

class ChassisPart final : public NodePart {
 public:
  ChassisPart(const NodePlan& plan, const DriverContext& context)
      : plan_(plan), context_(context), wanted_(WantedIds(plan)) {}

  [[nodiscard]] const char* name() const override { return "chassis"; }

  [[nodiscard]] Differences Check(const Deadline& deadline) override {
    const ExternalIds there = IdsOf(context_).Find(deadline);
    const IdChanges changes = ChangesTo(wanted_, there);
    Differences found;
    for (const std::string key : kKeys) {
      const bool is_missing = changes.added.contains(key);
      if (!is_missing && !changes.removed.contains(key) && !changes.removed.contains(MarkOf(key)))
        continue;
      found.push_back({.kind = DifferenceKind::kExternalIds,
                       .what = key,
                       .text = "external_ids:" + key + " of Open vSwitch is " +
                               (is_missing ? "not " + changes.added.at(key) : "no longer ours"),
                       .live_safe = true});
    }
    if (found.empty() && plan_.chassis.is_managed) {
      if (const std::string why = WhyUnbound(plan_, there); !why.empty()) throw OvsError(why);
    }
    return found;
  }

  void Make(const Deadline& deadline) override {
    NodeIds ids = IdsOf(context_);
    const IdChanges changes = ChangesTo(wanted_, ids.Find(deadline));
    ids.Change(changes.removed, changes.added, deadline);
  }

 private:
  const NodePlan& plan_;
  const DriverContext& context_;
  const ExternalIds wanted_;
};

}  // namespace

std::vector<ChassisSetting> FindChassis(const DriverContext& context, const Deadline& deadline) {
  const ExternalIds there = IdsOf(context).Find(deadline);
  std::vector<ChassisSetting> settings;
  for (const std::string key : kKeys) {
    const auto found = there.find(key);
    if (found != there.end())
      settings.push_back({.key = key, .value = found->second, .is_ours = IsOurs(there, key)});
  }
  return settings;
}

bool RemoveChassis(const DriverContext& context, const Deadline& deadline) {
  NodeIds ids = IdsOf(context);
  const ExternalIds removed = ChangesTo({}, ids.Find(deadline)).removed;
  if (removed.empty()) return false;
  ids.Change(removed, {}, deadline);
  return true;
}

std::unique_ptr<NodePart> NewChassisPart(const NodePlan& plan, const DriverContext& context) {
  return std::make_unique<ChassisPart>(plan, context);
}

}  // namespace kuryr::binding
