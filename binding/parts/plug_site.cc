#include "binding/parts/plug_site.h"

#include <algorithm>
#include <utility>

#include "binding/links/link_mark.h"
#include "binding/links/owner.h"
#include "binding/links/veth.h"

namespace kuryr::binding {

PlugSite::PlugSite(const DriverContext& context, const PlugRequest& request, Patience patience)
    : context_(context),
      request_(&request),
      plug_(request.planned.plug),
      attachment_(request.attachment),
      deadline_(request.deadline),
      patience_(patience) {}

PlugSite::PlugSite(const DriverContext& context, const Plug& plug, const Attachment& attachment,
                   const Deadline& deadline)
    : context_(context), plug_(plug), attachment_(attachment), deadline_(deadline) {}

RouteSocket& PlugSite::host() {
  if (!host_) host_.emplace();
  return *host_;
}

RouteSocket& PlugSite::inside() {
  if (!inside_) inside_.emplace(RouteSocket::OpenIn(pod()));
  return *inside_;
}

PortSession& PlugSite::session() {
  if (!session_) {
    const bool patient = patience_ == Patience::kOvsdb;
    session_.emplace(context_, deadline_, patient ? config().ovsdb_wait : std::chrono::seconds(0));
  }
  return *session_;
}

void PlugSite::NoteLeftover(const Link& link) {
  const auto mark = LinkMark::Parse(link.alias);
  const Attachment& owner = mark ? mark->attachment : attachment_;
  const bool is_known =
      std::any_of(leftovers_.begin(), leftovers_.end(),
                  [&](const Attachment& known) { return OwnerOf(known, owner) == Owner::kOwn; });
  if (!is_known) leftovers_.push_back(owner);
}

void PlugSite::RemoveLinks() {
  const std::vector<Link> links = std::exchange(discarded_, {});
  if (!links.empty()) RemoveOwnLinks(host(), shared().links, links);
}

void PlugSite::BeginUndo() {
  deadline_ = Deadline::After(kRollbackTime);
  patience_ = Patience::kNone;
  session_.reset();
}

}  // namespace kuryr::binding
