#pragma once

#include <optional>
#include <string>

#include "binding/interfaces.h"
#include "binding/l3.h"
#include "binding/parts/link_check.h"

namespace kuryr::binding {

/// The text of the first difference, for Driver::Check of drivers without parts.
[[nodiscard]] inline std::optional<std::string> FirstOf(const Differences& differences) {
  if (differences.empty()) return std::nullopt;
  return differences.front().text;
}

[[nodiscard]] inline std::optional<std::string> CheckLink(RouteSocket& socket,
                                                          const WantedLink& wanted,
                                                          const Attachment& attachment) {
  Differences found;
  CheckLink(socket, wanted, attachment, found);
  return FirstOf(found);
}

/// The pod's interface, with its addresses and routes.
[[nodiscard]] inline std::optional<std::string> CheckPodLink(const PlugRequest& request,
                                                             WantedLink wanted) {
  const auto& [planned, attachment, pod, deadline] = request;
  wanted.name = planned.plug.ifname;
  wanted.mac = planned.mac;
  RouteSocket inside = RouteSocket::OpenIn(pod);
  Differences found;
  const auto link = CheckLink(inside, wanted, attachment, found);
  if (link) CheckL3(inside, *link, planned.l3, found);
  return FirstOf(found);
}

}  // namespace kuryr::binding
