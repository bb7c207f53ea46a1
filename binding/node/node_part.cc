#include "binding/node/node_part.h"

#include "binding/node/chassis.h"
#include "binding/node/management_port.h"
#include "binding/node/node_routes.h"
#include "binding/node/node_rules.h"
#include "binding/try_all.h"

namespace kuryr::binding {

std::vector<std::unique_ptr<NodePart>> NodePartsOf(const NodePlan& plan,
                                                   const DriverContext& context) {
  std::vector<std::unique_ptr<NodePart>> parts;
  parts.push_back(NewChassisPart(plan, context));
  parts.push_back(NewManagementPortPart(plan, context));
  parts.push_back(NewSettingsPart(plan));
  parts.push_back(NewAddressPart(plan));
  parts.push_back(NewRoutePart(plan));
  parts.push_back(NewRulePart(plan));
  return parts;
}

bool RemoveNodeParts(const DriverContext& context, const Deadline& deadline) {
  bool was_there = false;
  TryAll steps;
  steps.Try([&] { was_there = RemoveNodeRoutes() || was_there; });
  steps.Try([&] { was_there = RemoveNodeRules() || was_there; });
  steps.Try([&] { was_there = RemoveChassis(context, deadline) || was_there; });
  steps.Try([&] { was_there = RemoveManagementPorts(context, deadline) || was_there; });
  steps.Finish();
  return was_there;
}

}  // namespace kuryr::binding
