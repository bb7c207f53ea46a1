#include "binding/parts/pod_link_part.h"

#include "binding/links/interfaces.h"
#include "binding/links/link_mark.h"
#include "binding/parts/link_check.h"
#include "binding/plan/l3.h"

namespace kuryr::binding {

void PodLinkPart::Require() { RequireFree(site().inside(), ifname()); }

bool PodLinkPart::MustMakeChecksums() {
  return settings_.makes_checksums && site().session().IsUserspace();
}

void PodLinkPart::Check(Differences& found) {
  // The MTU is not compared: a later plugin may have set another one.
  const WantedLink wanted = {.name = ifname(),
                             .kind = settings_.kind,
                             .mac = site().planned().mac,
                             .marked = settings_.marked,
                             .makes_checksums = MustMakeChecksums()};
  CheckLink(site().inside(), wanted, site().attachment(), found);
}

void PodLinkPart::Make() {
  RouteSocket& inside = site().inside();
  const Link link = GlanceAt(inside, ifname());
  if (MustMakeChecksums()) inside.MakeChecksums(link);
  Prepare(link);
  if (settings_.marked) {
    inside.SetAliasAndUp(link, LinkMark{site().attachment()}.ToString());
  } else {
    inside.SetUp(link);
  }
}

void PodLinkPart::Prepare(const Link& link) {
  RefuseAdvertisements(site().pod(), link.name, site().planned().l3);
}

std::optional<Interface> PodLinkPart::Await() {
  return Describe(GlanceAt(site().inside(), ifname()), true);
}

void Layer3Part::Check(Differences& found) {
  // Another part tells that the link is missing.
  const auto link = site().inside().FindLink(site().plug().ifname);
  if (link) CheckL3(site().inside(), *link, site().planned().l3, found);
}

void Layer3Part::Make() {
  ConfigureL3(site().pod(), site().plug().ifname, site().planned().l3, L3Scope::kPod);
}

}  // namespace kuryr::binding
