#include "cni/agent/upkeep/running_plugs.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <utility>

#include "base/log.h"
#include "binding/netlink/route_socket.h"
#include "binding/plan/l3.h"
#include "cni/attachments/identity.h"

namespace kuryr::cni {
namespace {

constexpr std::chrono::seconds kWiringTime{1};

size_t IndexOf(const AttachmentRecord& record, const std::string& ifname) {
  const auto found = std::find_if(record.plugs.begin(), record.plugs.end(),
                                  [&](const binding::Plug& plug) { return plug.ifname == ifname; });
  return static_cast<size_t>(found - record.plugs.begin());
}

}  // namespace

void RunningPlugs::DropInterrupted() {
  const std::set<std::string> interrupted = record().changing;
  for (const std::string& ifname : interrupted) Drop(ifname, deadline_);
}

void RunningPlugs::Drop(const std::string& ifname, const Deadline& deadline) {
  AttachmentRecord record = *attachment_.record();
  const size_t index = IndexOf(record, ifname);
  node_.binding.Disconnect({record.plugs.at(index)}, record.attachment(), deadline);
  record.plugs.erase(record.plugs.begin() + static_cast<std::ptrdiff_t>(index));
  record.vifs.erase(record.vifs.begin() + static_cast<std::ptrdiff_t>(index));
  record.changing.erase(ifname);
  record.later.erase(ifname);
  attachment_.Write(std::move(record));
}

void RunningPlugs::Unplug(const std::string& ifname) {
  AttachmentRecord record = *attachment_.record();
  record.changing.insert(ifname);
  attachment_.Write(std::move(record));
  Drop(ifname, deadline_);
}

void RunningPlugs::Plug(const PlanChange::Added& added) {
  const std::string& ifname = added.vif.ifname;
  AttachmentRecord record = *attachment_.record();
  record.plugs.push_back(added.planned.plug);
  record.vifs.push_back(added.vif);
  record.changing.insert(ifname);
  record.later.insert(ifname);
  attachment_.Write(record);
  try {
    RequireOwnIdentity(record, node_.attachments);
    (void)node_.binding.Connect({.planned = added.planned,
                                 .attachment = record.attachment(),
                                 .pod = pod_,
                                 .deadline = deadline_});
  } catch (...) {
    Drop(ifname, Deadline::After(kUndoTime));
    throw;
  }
  record.changing.erase(ifname);
  attachment_.Write(record);
  try {
    const auto wired_by = node_.binding.WaitUntilWired({added.planned.plug}, record.attachment(),
                                                       deadline_.AtMost(kWiringTime));
    node_.binding.Announce(added.planned, pod_, wired_by);
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "the pod's addresses are not announced to its neighbours",
        {{"ifname", ifname}, {"error", e.what()}});
  }
}

void RunningPlugs::Change(const PlanChange::Changed& changed) {
  AttachmentRecord record = *attachment_.record();
  const std::string& ifname = changed.vif.ifname;
  const size_t index = IndexOf(record, ifname);
  SetMtu(changed.after);
  binding::ChangeL3(pod_, ifname, changed.before.l3, changed.after.l3);
  (void)node_.binding.Repair({.planned = changed.after,
                              .attachment = record.attachment(),
                              .pod = pod_,
                              .deadline = deadline_});
  record.vifs.at(index) = changed.vif;
  record.later.insert(ifname);
  attachment_.Write(std::move(record));
}

void RunningPlugs::SetMtu(const binding::Planned& planned) {
  auto inside = binding::RouteSocket::OpenIn(pod_);
  const auto link = inside.FindLink(planned.plug.ifname);
  const uint32_t mtu = planned.mtu.Checked();
  if (link && mtu != 0 && link->mtu != mtu) inside.ChangeLink(*link, {.mtu = mtu});
}

std::vector<PluggedVif> RunningPlugs::Plugged() const {
  auto inside = binding::RouteSocket::OpenIn(pod_);
  std::vector<PluggedVif> all;
  for (size_t i = 0; i < record().vifs.size(); ++i) {
    binding::Planned planned = node_.binding.PlanWith(record().vifs[i], record().plugs[i],
                                                      record().LimitsOf(record().vifs[i]));
    const std::string& ifname = planned.plug.ifname;
    const auto link = inside.FindLink(ifname);
    binding::Interface interface = {.name = ifname,
                                    .mac = link ? link->mac : planned.mac,
                                    .mtu = link ? link->mtu : 0,
                                    .in_pod = true};
    all.push_back({.vif = record().vifs[i],
                   .planned = std::move(planned),
                   .interfaces = {std::move(interface)}});
  }
  return all;
}

}  // namespace kuryr::cni
