#include "binding/parts/link_check.h"

#include "base/error.h"
#include "binding/links/link_mark.h"
#include "binding/links/owner.h"

namespace kuryr::binding {
namespace {

/// Compares one link, property by property.
class LinkComparison {
 public:
  LinkComparison(const WantedLink& wanted, Differences& found) : wanted_(wanted), found_(found) {}

  /// `text` follows the link's name.
  void Tell(DifferenceKind kind, const std::string& expected, const std::string& present,
            const std::string& text) {
    found_.push_back({.kind = kind,
                      .what = wanted_.name,
                      .expected = expected,
                      .found = present,
                      .text = "interface " + wanted_.name + text,
                      .live_safe = kind == DifferenceKind::kLink
                                       ? present.empty() && wanted_.is_replaceable
                                       : wanted_.is_mendable});
  }
  /// "interface NAME `property` PRESENT instead of EXPECTED".
  void TellValue(DifferenceKind kind, const std::string& expected, const std::string& present,
                 const std::string& property) {
    Tell(kind, expected, present, " " + property + " " + present + " instead of " + expected);
  }

 private:
  const WantedLink& wanted_;
  Differences& found_;
};

/// Whether the link has no alias any more. Its group, from its birth on, still names the pod.
bool HasLostMark(const Link& link, const Attachment& attachment) {
  return link.alias.empty() && link.group == BirthGroup(attachment);
}

std::string NameOfMaster(RouteSocket& socket, const Link& link) {
  const auto master = socket.FindLink(link.master);
  return master ? master->name : "";
}

}  // namespace

std::optional<Link> CheckLink(RouteSocket& socket, const WantedLink& wanted,
                              const Attachment& attachment, Differences& found) {
  LinkComparison comparison(wanted, found);
  auto link = socket.FindLink(wanted.name);
  if (!link) {
    comparison.Tell(DifferenceKind::kLink, wanted.kind, "", " is missing");
    return std::nullopt;
  }
  if (!wanted.kind.empty() && link->kind != wanted.kind) {
    comparison.TellValue(DifferenceKind::kLink, "\"" + wanted.kind + "\"", "\"" + link->kind + "\"",
                         "is of kind");
    return std::nullopt;
  }
  if (wanted.marked && OwnerOf(*link, attachment) != Owner::kOwn) {
    const std::string alias = "\"" + Printable(link->alias) + "\"";
    const bool has_lost_it = wanted.is_mendable && HasLostMark(*link, attachment);
    comparison.Tell(has_lost_it ? DifferenceKind::kAlias : DifferenceKind::kLink, "", alias,
                    " is not this attachment's: its alias is " + alias);
    if (!has_lost_it) return std::nullopt;
  }
  if (wanted.mac && link->mac != *wanted.mac)
    comparison.TellValue(DifferenceKind::kMac, wanted.mac->ToString(), link->mac.ToString(),
                         "has MAC");
  if (wanted.mtu != 0 && link->mtu != wanted.mtu)
    comparison.TellValue(DifferenceKind::kMtu, std::to_string(wanted.mtu),
                         std::to_string(link->mtu), "has MTU");
  if (wanted.makes_checksums && socket.LeavesChecksums(*link))
    comparison.Tell(
        DifferenceKind::kChecksums, "off", "on",
        " has tx-checksumming on, and the bridge's userspace datapath makes no checksums");
  if (!link->up) comparison.Tell(DifferenceKind::kState, "up", "down", " is down");
  if (wanted.master && link->master != *wanted.master) {
    const std::string master = NameOfMaster(socket, *link);
    comparison.Tell(
        DifferenceKind::kBridge, "", master,
        " is on " + (master.empty() ? "no bridge" : "bridge " + master) + " instead of the VIF's");
  }
  return link;
}

void MendLink(RouteSocket& host, const Link& link, const WantedLink& wanted,
              const Attachment& attachment) {
  LinkChange change;
  if (wanted.mtu != 0 && link.mtu != wanted.mtu) change.mtu = wanted.mtu;
  if (wanted.marked && link.alias.empty()) change.alias = LinkMark{attachment}.ToString();
  if (!link.up) change.up = true;
  if (change != LinkChange()) host.ChangeLink(link, change);
  if (wanted.master && link.master != *wanted.master) host.SetMasterAndUp(link, *wanted.master);
}

}  // namespace kuryr::binding
