#pragma once

#include <optional>
#include <string>

#include "binding/netlink/link.h"
#include "binding/netlink/nl_ptr.h"
#include "binding/netns.h"

namespace kuryr::binding {

/// A NETLINK_ROUTE socket. It stays in the network namespace it was opened in. Every request names
/// its object and waits for the kernel's acknowledgement; no table is ever dumped. Failures throw
/// std::system_error with the kernel's errno and the object in the text ("create veth tap0"). Not
/// thread-safe: one per thread and operation.
class RouteSocket {
 public:
  /// In the calling thread's namespace.
  RouteSocket();
  [[nodiscard]] static RouteSocket OpenIn(const Netns& netns);

  [[nodiscard]] std::optional<Link> FindLink(const std::string& name);

  /// One request (veth(4)): nothing is left of it when it fails. Throws std::errc::file_exists when
  /// either name is taken in its namespace, std::errc::invalid_argument for what is no interface
  /// name.
  void CreateVeth(const VethPair& pair);
  void SetUp(const Link& link);
  /// IFLA_IFALIAS, at most 255 bytes, and IFF_UP in one request.
  void SetAliasAndUp(const Link& link, const std::string& alias);
  /// False when there was no such link.
  bool DeleteLink(const std::string& name);

  /// Prefix length from `address`; IPv6 without duplicate address detection (IFA_F_NODAD). An
  /// address already there is fine.
  void AddAddress(const Link& link, const IpNetwork& address);
  /// False when the route (or, for a default route, any default route of the family and metric) was
  /// there already.
  bool AddRoute(const Link& link, const LinkRoute& route);

 private:
  NlSocketPtr socket_;
};

}  // namespace kuryr::binding
