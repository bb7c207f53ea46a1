#include "cni/pod/pod_plugs.h"

#include <chrono>
#include <exception>
#include <utility>

#include "base/log.h"
#include "binding/plan/l3.h"

namespace kuryr::cni {
namespace {

/// DescribeWiring runs when the deadline of the ADD is over.
constexpr std::chrono::seconds kDescribeTime{1};

}  // namespace

void PodPlugs::Plan(const std::vector<vif::PodVif>& vifs, const std::string& pod_uid) {
  AttachmentRecord record = *attachment_.record();
  if (record.pod_uid.empty()) record.pod_uid = pod_uid;
  Plan(vifs, std::move(record));
}

void PodPlugs::PlanLink(const vif::PodVif& vif, std::string delegate_config) {
  AttachmentRecord record = *attachment_.record();
  record.delegate_config = std::move(delegate_config);
  Plan({vif}, std::move(record));
  planned_.front().l3.is_awaited = true;
}

void PodPlugs::Plan(const std::vector<vif::PodVif>& vifs, AttachmentRecord record) {
  record.plugs.clear();
  record.vifs = vifs;
  planned_.clear();
  for (const vif::PodVif& vif : vifs) {
    planned_.push_back(binding_.Plan(vif, record.LimitsOf(vif)));
    record.plugs.push_back(planned_.back().plug);
  }
  attachment_.Write(std::move(record));
}

void PodPlugs::Plug() {
  const AttachmentRecord& record = *attachment_.record();
  for (size_t i = 0; i < planned_.size(); ++i) {
    ++touched_;
    auto interfaces = Connect(planned_[i]);
    plugged_.push_back(
        {.vif = record.vifs[i], .planned = planned_[i], .interfaces = std::move(interfaces)});
  }
}

void PodPlugs::Configure(const vif::PodVif& vif,
                         const std::vector<binding::LinkRoute>& more_routes) {
  PluggedVif& plugged = plugged_.front();
  binding::Planned planned =
      binding_.PlanWith(vif, plugged.planned.plug, attachment_.record()->LimitsOf(vif));
  auto& routes = planned.l3.routes;
  routes.insert(routes.end(), more_routes.begin(), more_routes.end());
  binding::RequireNextHops(planned.l3, "$.routes");
  binding::ConfigureL3(pod_, planned.plug.ifname, planned.l3, binding::L3Scope::kPod);
  plugged.vif = vif;
  plugged.planned = std::move(planned);
}

std::vector<vif::PodVif> PodPlugs::vifs() const {
  std::vector<vif::PodVif> vifs;
  vifs.reserve(plugged_.size());
  for (const PluggedVif& plugged : plugged_) vifs.push_back(plugged.vif);
  return vifs;
}

std::vector<binding::Interface> PodPlugs::Connect(const binding::Planned& planned) {
  try {
    return binding_.Connect({.planned = planned,
                             .attachment = attachment_.record()->attachment(),
                             .pod = pod_,
                             .deadline = deadline_});
  } catch (const binding::OvsUnreachable&) {
    --touched_;
    throw;
  }
}

void PodPlugs::Unplug() {
  if (touched_ == 0) return;
  const AttachmentRecord& record = *attachment_.record();
  // A Connect that failed has undone its plug, unless that failed as well.
  const std::vector<binding::Plug> touched(record.plugs.begin(),
                                           record.plugs.begin() + static_cast<long>(touched_));
  binding_.Disconnect(touched, record.attachment(), Deadline::After(kUndoTime));
  plugged_.clear();
  touched_ = 0;
}

void PodPlugs::WaitUntilWired() {
  wired_by_ = binding_.WaitUntilWired(Plugs(), attachment_.record()->attachment(), deadline_);
}

std::string PodPlugs::DescribeWiring() noexcept {
  try {
    return binding_.DescribeWiring(Plugs(), attachment_.record()->attachment(),
                                   Deadline::After(kDescribeTime));
  } catch (const std::exception& e) {
    Log(LogLevel::kDebug, "who wires the pod's ports is not known", {{"error", e.what()}});
    return "";
  }
}

void PodPlugs::Announce() noexcept {
  for (const PluggedVif& plugged : plugged_) {
    try {
      binding_.Announce(plugged.planned, pod_, wired_by_);
    } catch (const std::exception& e) {
      Log(LogLevel::kWarning, "the pod's addresses are not announced to its neighbours",
          {{"ifname", plugged.planned.plug.ifname}, {"error", e.what()}});
    }
  }
}

std::vector<binding::Plug> PodPlugs::Plugs() const {
  std::vector<binding::Plug> plugs;
  plugs.reserve(plugged_.size());
  for (const PluggedVif& plugged : plugged_) plugs.push_back(plugged.planned.plug);
  return plugs;
}

void PodPlugs::Update(const std::vector<vif::PodVif>& vifs) {
  for (size_t i = 0; i < plugged_.size(); ++i) plugged_[i].vif = vifs[i];
}

}  // namespace kuryr::cni
