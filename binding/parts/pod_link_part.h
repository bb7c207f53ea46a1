#pragma once

#include <optional>
#include <string>

#include "binding/parts/part.h"

namespace kuryr::binding {

/// Properties of the pod's link beyond those of the plan.
struct PodLinkSettings {
  std::string kind;     ///< Link::kind; empty: any
  bool marked = false;  ///< the link bears the attachment's mark
  /// The link makes checksums where the port's bridge is of userspace.
  bool makes_checksums = false;
};

/// The pod's end of a veth pair, which another part makes. A pod's own link is never mended.
class PodLinkPart : public Part {
 public:
  PodLinkPart(PlugSite& site, PodLinkSettings settings)
      : Part(site), settings_(std::move(settings)) {}

  /// Throws InterfaceExists where the pod has a link of that name.
  void Require() override;
  void Check(Differences& found) override;
  void Make() override;
  [[nodiscard]] std::optional<Interface> Await() override;

 protected:
  [[nodiscard]] const std::string& ifname() const noexcept { return site().plug().ifname; }
  /// Before the link is up: no neighbour changes what the plan says.
  void Prepare(const Link& link);

 private:
  [[nodiscard]] bool MustMakeChecksums();

  const PodLinkSettings settings_;
};

/// The pod's addresses and routes, which go with its link.
class Layer3Part final : public Part {
 public:
  using Part::Part;

  void Check(Differences& found) override;
  void Make() override;
};

}  // namespace kuryr::binding
