#pragma once

namespace kuryr::binding {

/// Switches the node's IPv4 forwarding on (net.ipv4.ip_forward), in the calling thread's namespace.
/// Throws std::system_error.
void ForwardIpv4();
/// Switches the node's IPv6 forwarding on (net.ipv6.conf.all.forwarding). A node that forwards
/// ignores router advertisements, and the kernel removes the default routes that came by them
/// (addrconf_fixup_forwarding). Each link that has such a route and accept_ra = 1 therefore gets
/// accept_ra = 2 before. Throws std::system_error.
void ForwardIpv6();

}  // namespace kuryr::binding
