#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/owners/pod_store.h"
#include "controller/owners/writer.h"
#include "controller/plan/plan_places.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// Where plans are written for the node to read. What it writes for a pod holds the pod's finalizer
/// with it. All throw what Writer throws; a conflict (409) leaves nothing half done that the next
/// call does not finish.
class VifSink {
 public:
  VifSink() = default;
  VifSink(const VifSink&) = delete;
  VifSink& operator=(const VifSink&) = delete;
  virtual ~VifSink() = default;

  /// Writes a first plan, or a changed one. PlanError kRefused if the form has no room for it.
  virtual void Write(const KnownPod& known, const std::vector<vif::PodVif>& vifs) = 0;

  /// Whether the pod's plan stands where this sink writes.
  [[nodiscard]] virtual bool Holds(const KnownPod& known) const = 0;

  /// Writes a plan instead of the one that the sink holds. Only `former` stays of that: the
  /// addresses that the pod may have from it and from earlier plans.
  virtual void Replace(const KnownPod& known, const std::vector<vif::PodVif>& vifs,
                       const std::vector<IpAddress>& former) = 0;

  /// Completes what Write and Replace have begun: holds a planned pod, and tells its node of a
  /// changed plan. Their process may have been killed between two writes.
  virtual void Complete(const KnownPod& /*known*/) {}
};

/// The addresses as an annotation lists them.
[[nodiscard]] std::string Listed(const std::vector<IpAddress>& addresses);

/// Removes the pod's finalizer, and the plans that controllers wrote for it with any sink. Plans of
/// other producers stay.
void ClearPlan(const KnownPod& known, Writer& writer);

/// Borrows the writer. With `holds_ports`, KuryrPorts have kPortFinalizer.
[[nodiscard]] std::unique_ptr<VifSink> MakeSink(SinkKind kind, Writer& writer,
                                                bool holds_ports = true);

}  // namespace kuryr::controller
