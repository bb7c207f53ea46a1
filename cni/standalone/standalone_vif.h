#pragma once

#include <string>

#include "cni/attachments/attachment_record.h"
#include "cni/protocol/request.h"
#include "cni/protocol/result.h"
#include "vif/pod_vifs.h"

namespace kuryr::cni {

/// The VIF of an attachment to a standalone network, with layer 2 only. Names, and a MAC that the
/// runtime does not choose, follow from the attachment's key: a second call gives the same VIF.
[[nodiscard]] vif::PodVif MakeStandaloneVif(const Request& request);
/// `vif` with these addresses, and with the routes that are not IsExtraRoute.
[[nodiscard]] vif::PodVif WithAddresses(vif::PodVif vif, const Result& addresses);

/// Whether the attachment is a device of the node that the runtime names, and not a veth pair.
[[nodiscard]] bool HasDevice(const Request& request);
/// The name of the attachment's interface on the host.
[[nodiscard]] std::string StandaloneHostInterface(const AttachmentKey& key);

/// Whether the route has more than destination and gateway, which are all that a VIF's routes have.
[[nodiscard]] bool IsExtraRoute(const ResultRoute& route);

/// Gives every address the gateway that IPAM left out: the first address of its subnet.
void FillGateways(Result& addresses);
/// Each gateway once, with its subnet's prefix length.
[[nodiscard]] std::vector<IpNetwork> GatewaysOf(const Result& addresses);

}  // namespace kuryr::cni
