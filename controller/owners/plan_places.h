#pragma once

#include <cstdint>

namespace kuryr::controller {

/// Where this controller's plans stand: [kubernetes] vif_sink.
enum class SinkKind : uint8_t {
  kKuryrPort,  ///< a KuryrPort of the pod's name, as the original's 3.0 to 10.0
  kPodState,   ///< the pod's annotation, as 0.5 to 2.0
  kVif,        ///< the pod's annotation with one VIF, as 0.1 to 0.4
};

/// As kuryr.conf names it.
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

/// Where plans of other producers may stand: [controller] other_producers. Elsewhere, what looks
/// like a plan counts for nothing.
enum class OtherProducers : uint8_t {
  kNone,
  kKuryrPorts,
  kAnnotations,  ///< and KuryrPorts
};

/// Whose plan is read where. What a pod's user may write proves nothing, so an annotation is this
/// controller's plan only where it writes annotations itself. KuryrPorts of its own count always.
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
