#pragma once

#include <string>

#include "binding/netns.h"

namespace kuryr::binding {

/// Has the kernel tell the neighbours of `ifname`, a link of `pod` that is up, at which MAC its
/// addresses are now: an ARP request for each by itself (RFC 5227, section 2.3), and an unsolicited
/// neighbor advertisement with Override (RFC 4861, section 7.2.6). Neighbours that know an address
/// take the MAC at once, and switches learn where it is. It happens once: no step waits for a
/// second one. A link without a carrier has a second to get it. The link keeps announcing
/// (arp_notify, ndisc_notify of ip-sysctl) when it goes up again or changes its MAC, as with CNI's
/// own plugins. Throws std::system_error that names the link or the setting. The calling thread
/// visits the pod's namespace meanwhile.
void Announce(const Netns& pod, const std::string& ifname);

}  // namespace kuryr::binding
