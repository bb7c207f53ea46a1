#include "cni/commands/status.h"

#include <algorithm>

#include "binding/drivers/drivers.h"
#include "cni/protocol/error.h"
#include "cni/standalone/delegate.h"

namespace kuryr::cni {
namespace {

std::optional<std::string> OvsBridgeOf(const Request& request, const Config& config) {
  const auto& standalone = request.config.standalone;
  if (!standalone) return OvsBridgeOf(config);
  const bool ovs = standalone->kind == StandaloneNetwork::Kind::kOvs;
  return ovs && !standalone->bridge.empty() ? std::optional(standalone->bridge) : std::nullopt;
}

bool HasAttachmentOn(const std::string& bridge, const Request& request, const NodeContext& node) {
  for (const AttachmentKey& key : node.attachments.List(request.config.name)) {
    const auto record = node.attachments.Find(key);
    if (!record || !record->added) continue;
    const bool on_bridge =
        std::any_of(record->plugs.begin(), record->plugs.end(),
                    [&](const binding::Plug& plug) { return plug.bridge == bridge; });
    if (on_bridge) return true;
  }
  return false;
}

void RequireOvs(const Call& call) {
  const auto bridge = OvsBridgeOf(call.request, call.config);
  if (!bridge) return;
  const auto problem = call.node.binding.FindOvsProblem(*bridge, call.deadline);
  if (!problem) return;
  const bool pods_cut_off = HasAttachmentOn(*bridge, call.request, call.node);
  throw CniError(pods_cut_off ? ErrorCode::kLimitedService : ErrorCode::kNotAvailable, *problem,
                 "bridge " + *bridge + ", " + call.config.binding.ovsdb_connection);
}

}  // namespace

std::optional<std::string> OvsBridgeOf(const Config& config) {
  const auto& drivers = config.binding.drivers;
  const bool named = std::any_of(drivers.begin(), drivers.end(), [](const std::string& driver) {
    const binding::DriverRow* row = binding::FindDriverRow(driver);
    return row != nullptr && row->ports == binding::OvsPorts::kAll;
  });
  // On a node whose pods are nested, link_iface names their link.
  const bool needed = drivers.empty() ? config.binding.link_iface.empty() : named;
  return needed ? std::optional(config.binding.ovs_bridge) : std::nullopt;
}

std::string Status(const Call& call) {
  const Request& request = call.request;
  RequireOvs(call);
  if (!request.config.standalone) call.events.RequireReady();
  if (!request.config.ipam.empty()) Delegate(request, request.config.json).Status(call.deadline);
  return {};
}

}  // namespace kuryr::cni
