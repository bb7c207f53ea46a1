#pragma once

#include <cstdint>

namespace kuryr::controller {

/// Where this controller writes plans: [kubernetes] vif_sink.
enum class SinkKind : uint8_t {
  kKuryrPort,  ///< a KuryrPort of the pod's name, as kuryr-kubernetes 3.0 to 10.0
  kPodState,   ///< the pod's annotation, as kuryr-kubernetes 0.5 to 2.0
  kVif,        ///< the pod's annotation with one VIF, as kuryr-kubernetes 0.1 to 0.4
};

/// The name in kuryr.conf.
[[nodiscard]] constexpr const char* NameOf(SinkKind kind) {
  switch (kind) {
    case SinkKind::kKuryrPort:
      return "kuryrport";
    case SinkKind::kPodState:
      return "podstate";
    case SinkKind::kVif:
      return "vif";
  }
  return "";
}

/// Where plans of other producers count: [controller] other_producers. Elsewhere they do not.
enum class OtherProducers : uint8_t {
  kNone,
  kKuryrPorts,
  kAnnotations,  ///< annotations and KuryrPorts
};

/// Where plans count, of this controller and of other producers. A pod's user may write an
/// annotation. It counts as this controller's plan only if this controller writes annotations.
/// KuryrPorts of this controller always count.
struct PlanPlaces {
  SinkKind sink = SinkKind::kKuryrPort;
  OtherProducers others = OtherProducers::kKuryrPorts;

  [[nodiscard]] bool annotations_are_ours() const noexcept { return sink != SinkKind::kKuryrPort; }
  [[nodiscard]] bool heeds_ports() const noexcept { return others != OtherProducers::kNone; }
  [[nodiscard]] bool heeds_annotations() const noexcept {
    return others == OtherProducers::kAnnotations;
  }
};

}  // namespace kuryr::controller
