#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vif/pod_vifs.h"

namespace kuryr::vif {

/// For `kuryr-cni --decode`: `text` is a Pod, a KuryrPort, the annotation's text in any of its
/// shapes, a VIF, Network or InstanceInfo. All throw ParseError with the path.

/// For people: what it is, then every interface with its addresses, routes and state, then every
/// field that is set. Printable ASCII and line feeds only.
[[nodiscard]] std::string DecodeToText(std::string_view text);

/// The same input decoded and encoded again, indented: equal to the input as JSON where that was
/// canonical. Of a Pod the annotation's content, of a KuryrPort its vifs; "null" where it carries
/// none.
[[nodiscard]] std::string DecodeToJson(std::string_view text);

/// The same input's VIFs; none of a Network, an InstanceInfo and of what carries none.
[[nodiscard]] std::vector<PodVif> DecodeVifs(std::string_view text);

}  // namespace kuryr::vif
