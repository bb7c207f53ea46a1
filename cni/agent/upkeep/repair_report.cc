#include "cni/agent/upkeep/repair_report.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "watcher/pod_event.h"

namespace kuryr::cni {
namespace {

using binding::DifferenceKind;
using Outcome = RepairReport::Outcome;
using watcher::PodEvent;

const char* KindOf(DifferenceKind kind) {
  switch (kind) {
    case DifferenceKind::kLink:
      return "link";
    case DifferenceKind::kAlias:
      return "alias";
    case DifferenceKind::kMac:
      return "mac";
    case DifferenceKind::kMtu:
      return "mtu";
    case DifferenceKind::kState:
      return "state";
    case DifferenceKind::kBridge:
      return "bridge";
    case DifferenceKind::kChecksums:
      return "checksums";
    case DifferenceKind::kAddress:
      return "address";
    case DifferenceKind::kRoute:
      return "route";
    case DifferenceKind::kPort:
      return "port";
    case DifferenceKind::kExternalIds:
      return "external_ids";
    case DifferenceKind::kVlan:
      return "vlan";
    case DifferenceKind::kProtection:
      return "protection";
    case DifferenceKind::kQos:
      return "qos";
    case DifferenceKind::kMirror:
      return "mirror";
    case DifferenceKind::kDevice:
      return "device";
    case DifferenceKind::kFile:
      return "file";
    case DifferenceKind::kSocket:
      return "socket";
    case DifferenceKind::kSetting:
      return "setting";
    case DifferenceKind::kRules:
      return "rules";
  }
  return "unknown";
}

const char* WordFor(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRepaired:
      return "repaired";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kReported:
      return "reported";
    case Outcome::kContested:
      return "contested";
  }
  return "unknown";
}

PodEvent EventFor(const std::string& differences, Outcome outcome) {
  if (outcome == Outcome::kRepaired)
    return {.reason = "CNIRepaired", .message = "Repaired: " + differences};
  if (outcome == Outcome::kReported)
    return {.type = PodEvent::Type::kWarning,
            .reason = "CNIDiffers",
            .message = "Not as it was added: " + differences};
  return {.type = PodEvent::Type::kWarning,
          .reason = "CNIRepairContested",
          .message = "Something undoes each repair, which waits now: " + differences};
}

/// The pod, or a plugin behind us, may have changed its own interface on purpose.
bool IsInPod(const AttachmentRecord& record, const binding::Difference& difference) {
  return std::any_of(record.plugs.begin(), record.plugs.end(),
                     [&](const binding::Plug& plug) { return plug.ifname == difference.what; });
}

}  // namespace

std::string RepairReport::LogAll(const AttachmentRecord& record, const binding::Differences& found,
                                 Outcome outcome) {
  std::string texts;
  for (const binding::Difference& difference : found) {
    Log(outcome == Outcome::kContested ? LogLevel::kWarning : LogLevel::kInfo,
        "an attachment differs from its plan",
        {{"outcome", WordFor(outcome)},
         {"kind", KindOf(difference.kind)},
         {"pod", record.pod},
         {"container", record.key.container_id},
         {"interface", difference.what},
         {"expected", difference.expected},
         {"found", difference.found},
         {"difference", difference.text}});
    if (!IsInPod(record, difference)) texts += (texts.empty() ? "" : "; ") + difference.text;
  }
  return texts;
}

void RepairReport::Tell(const AttachmentRecord& record, const binding::Differences& found,
                        Outcome outcome) {
  const std::string texts = LogAll(record, found, outcome);
  for (const binding::Difference& difference : found)
    count_.Add(KindOf(difference.kind), WordFor(outcome));
  if (!texts.empty()) reporter_.Post(record, EventFor(texts, outcome));
}

void RepairReport::TellFailure(const AttachmentRecord& record, const binding::Differences& found,
                               const std::string& why, bool is_news) {
  for (const binding::Difference& difference : found)
    count_.Add(KindOf(difference.kind), WordFor(Outcome::kFailed));
  if (!is_news) return;
  const std::string reason = Printable(why, 300);
  Log(LogLevel::kWarning, "an attachment could not be repaired; it is tried again ever less often",
      {{"outcome", WordFor(Outcome::kFailed)},
       {"pod", record.pod},
       {"container", record.key.container_id},
       {"difference", found.front().text},
       {"error", reason}});
  reporter_.Post(
      record, {.type = PodEvent::Type::kWarning,
               .reason = "CNIRepairFailed",
               .message = "Could not be repaired, and is tried again ever less often: " + reason});
}

void RepairReport::WriteTo(service::MetricsText& text) const {
  constexpr const char* kName = "kuryr_daemon_repairs_total";
  text.Head(kName, "counter", "Differences of running pods' attachments from their plans.");
  count_.ForEach([&](const std::string& kind, const std::string& outcome, double count) {
    text.Sample(kName, {{"kind", kind}, {"outcome", outcome}}, count);
  });
}

}  // namespace kuryr::cni
