#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vif/pod_vifs.h"

namespace kuryr::vif {

/// For `kuryr-cni decode`: `text` is a Pod, a KuryrPort, the annotation's text in any of its
/// shapes, a VIF, Network or InstanceInfo. All throw ParseError with the path.

/// Text for people: the kind of object, then every interface with its addresses, routes and state,
/// then every set field. Printable ASCII and line feeds only.
[[nodiscard]] std::string DecodeToText(std::string_view text);

/// Decodes `text` and encodes it again, indented. The result equals a canonical input as JSON. For
/// a Pod it is the annotation's content, for a KuryrPort its vifs; "null" if there are none.
[[nodiscard]] std::string DecodeToJson(std::string_view text);

/// The VIFs in `text`; empty for a Network, an InstanceInfo and an object without VIFs.
[[nodiscard]] std::vector<PodVif> DecodeVifs(std::string_view text);

}  // namespace kuryr::vif
