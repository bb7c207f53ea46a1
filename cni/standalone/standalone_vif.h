#pragma once

#include <string>

#include "cni/attachments/attachment_record.h"
#include "cni/protocol/request.h"
#include "cni/protocol/result.h"
#include "vif/pod_vifs.h"

namespace kuryr::cni {

/// The VIF of an attachment to a network that this node makes by itself, of layer 2 only. Names and
/// the MAC that nobody chose follow from the attachment's key, so a second call gives the same.
[[nodiscard]] vif::PodVif MakeStandaloneVif(const Request& request);
/// The same VIF with these addresses, and the routes but those for which IsExtraRoute.
[[nodiscard]] vif::PodVif WithAddresses(vif::PodVif vif, const Result& addresses);

/// Whether it is a device of the node's that the runtime names, and no veth pair.
[[nodiscard]] bool HasDevice(const Request& request);
/// The name of its interface on the host.
[[nodiscard]] std::string StandaloneHostInterface(const AttachmentKey& key);

/// It says more than a VIF's routes can: destination and gateway.
[[nodiscard]] bool IsExtraRoute(const ResultRoute& route);

/// Gives every address the gateway that IPAM left out: the first address of its subnet.
void FillGateways(Result& addresses);
/// The gateways, each with its subnet's prefix length and once.
[[nodiscard]] std::vector<IpNetwork> GatewaysOf(const Result& addresses);

}  // namespace kuryr::cni
