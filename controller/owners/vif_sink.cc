#include "controller/owners/vif_sink.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "controller/owners/plan_verdict.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

std::vector<std::string> WithFinalizer(const PodFacts& pod) {
  std::vector<std::string> finalizers = pod.other_finalizers;
  finalizers.emplace_back(kPodFinalizer);
  return finalizers;
}

std::string OneVif(const std::vector<vif::PodVif>& vifs) {
  if (vifs.size() != 1) {
    throw PlanError(PlanError::Kind::kRefused,
                    "vif_sink = vif has room for one interface, and this pod has " +
                        std::to_string(vifs.size()) + ": use kuryrport or podstate");
  }
  return vif::EncodeVif(vifs.front().vif, vif::Changes::kOmit).dump();
}

/// Writes annotation and finalizer in one request: they come and go together.
class AnnotationSink : public VifSink {
 public:
  using Encode = std::string (*)(const std::vector<vif::PodVif>& vifs);

  AnnotationSink(Writer& writer, Encode encode) : writer_(writer), encode_(encode) {}

  void Write(const KnownPod& known, const std::vector<vif::PodVif>& vifs) override {
    writer_.PatchPod(*known.pod,
                     {{"finalizers", WithFinalizer(*known.pod)},
                      {"annotations", {{vif::kVifAnnotation, encode_(vifs)}}}},
                     vifs);
  }

  [[nodiscard]] bool Holds(const KnownPod& known) const override {
    return known.pod->plan.present && &PlanOf(known) == &known.pod->plan;
  }

  void Replace(const KnownPod& known, const std::vector<vif::PodVif>& vifs,
               const std::vector<IpAddress>& former) override {
    writer_.PatchPod(
        *known.pod,
        {{"annotations",
          {{vif::kVifAnnotation, encode_(vifs)}, {kFormerAnnotation, Listed(former)}}}},
        vifs);
  }

 private:
  Writer& writer_;
  const Encode encode_;
};

/// The longest value of a label; a node's name may be longer.
constexpr size_t kMostLabel = 63;

json LabelsFor(const PodFacts& pod) {
  if (pod.node.size() > kMostLabel) return json::object();
  return {{"kuryr.openstack.org/nodeName", pod.node}};
}

json EncodeStatus(const std::vector<vif::PodVif>& vifs) {
  json by_name = json::object();
  for (const vif::PodVif& vif : vifs) {
    by_name[vif.ifname] = {{"default", vif.is_default},
                           {"vif", vif::EncodeVif(vif.vif, vif::Changes::kOmit)}};
  }
  return {{"vifs", std::move(by_name)}};
}

json EncodePort(const PodFacts& pod, bool is_held, json status) {
  const json owner = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod.name}, {"uid", pod.uid}};
  json metadata = {{"name", pod.name},
                   {"namespace", pod.name_space},
                   {"labels", LabelsFor(pod)},
                   {"annotations", {{kPlannerAnnotation, kPlanner}}},
                   {"ownerReferences", json::array({owner})}};
  if (is_held) metadata["finalizers"] = {kPortFinalizer};
  return {{"apiVersion", "openstack.org/v1"},
          {"kind", "KuryrPort"},
          {"metadata", std::move(metadata)},
          {"spec", {{"podUid", pod.uid}, {"podNodeName", pod.node}, {"podStatic", pod.is_static}}},
          {"status", std::move(status)}};
}

Writer::PortVersion VersionOf(const PortFacts& port) {
  return {.uid = port.uid, .version = port.version};
}

void DeletePort(const PodFacts& pod, const PortFacts& port, Writer& writer) {
  writer.DeletePort(pod.name_space, pod.name, port.uid);
}

/// Writes the finalizer and the KuryrPort at the same time. Nodes use neither before both are
/// there.
class KuryrPortSink : public VifSink {
 public:
  KuryrPortSink(Writer& writer, bool holds_ports) : writer_(writer), holds_ports_(holds_ports) {}

  void Write(const KnownPod& known, const std::vector<vif::PodVif>& vifs) override {
    const PodFacts& pod = *known.pod;
    json status = EncodeStatus(vifs);
    if (known.port && known.port->ours && known.port->pod_uid == pod.uid) {
      Hold(pod);
      writer_.PatchPortStatus(pod, VersionOf(*known.port), status);
      return;
    }
    // This KuryrPort is an older pod's of that name, or another producer's that does not count.
    if (known.port) DeletePort(pod, *known.port, writer_);
    const json port = EncodePort(pod, holds_ports_, std::move(status));
    if (pod.has_finalizer)
      writer_.CreatePort(pod, port);
    else
      writer_.HoldAndCreatePort(pod, {{"finalizers", WithFinalizer(pod)}}, port);
  }

  [[nodiscard]] bool Holds(const KnownPod& known) const override {
    return known.port && &PlanOf(known) == &known.port->plan;
  }

  void Replace(const KnownPod& known, const std::vector<vif::PodVif>& vifs,
               const std::vector<IpAddress>& former) override {
    const PodFacts& pod = *known.pod;
    const std::string planned = vif::InterfacesOf(vifs);
    writer_.ReplacePortStatus(
        pod, VersionOf(*known.port), EncodeStatus(vifs),
        {{kFormerAnnotation, Listed(former)}, {vif::kPlannedAnnotation, planned}});
    MarkPod(pod, planned);
  }

  void Complete(const KnownPod& known) override {
    if (!Holds(known)) return;
    if (known.port->ours) Hold(*known.pod);
    if (known.port->changed) MarkPod(*known.pod, vif::InterfacesOf(known.port->plan.kept.vifs()));
  }

 private:
  void Hold(const PodFacts& pod) {
    if (!pod.has_finalizer) writer_.PatchPod(pod, {{"finalizers", WithFinalizer(pod)}});
  }

  /// Changes the pod's annotation, which makes its node ask for the KuryrPort of a running pod.
  void MarkPod(const PodFacts& pod, const std::string& planned) {
    if (MarkOf(planned) == pod.plan_mark) return;
    writer_.PatchPod(pod, {{"annotations", {{vif::kPlannedAnnotation, planned}}}});
  }

  Writer& writer_;
  const bool holds_ports_;
};

std::string PodState(const std::vector<vif::PodVif>& vifs) { return vif::EncodeAnnotation(vifs); }

}  // namespace

std::string Listed(const std::vector<IpAddress>& addresses) {
  std::string list;
  for (const IpAddress& address : addresses) list += (list.empty() ? "" : ",") + address.ToString();
  return list;
}

void ClearPlan(const KnownPod& known, Writer& writer) {
  const PodFacts& pod = *known.pod;
  if (known.port && known.port->ours) DeletePort(pod, *known.port, writer);
  if (!pod.has_finalizer && !pod.plan.ours) return;
  json metadata = {{"finalizers", pod.other_finalizers}};
  if (pod.plan.ours) metadata["annotations"] = {{vif::kVifAnnotation, nullptr}};
  if (!pod.plan.former.empty()) metadata["annotations"][kFormerAnnotation] = nullptr;
  writer.PatchPod(pod, std::move(metadata));
}

std::unique_ptr<VifSink> MakeSink(SinkKind kind, Writer& writer, bool holds_ports) {
  switch (kind) {
    case SinkKind::kKuryrPort:
      return std::make_unique<KuryrPortSink>(writer, holds_ports);
    case SinkKind::kPodState:
      return std::make_unique<AnnotationSink>(writer, PodState);
    case SinkKind::kVif:
      return std::make_unique<AnnotationSink>(writer, OneVif);
  }
  return nullptr;
}

}  // namespace kuryr::controller
