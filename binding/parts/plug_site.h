#pragma once

#include <optional>
#include <vector>

#include "binding/driver_context.h"
#include "binding/netlink/route_socket.h"
#include "binding/parts/port_session.h"
#include "binding/plan/attachment.h"

namespace kuryr::binding {

/// One plug in one call: the plan, and the sockets and connections with which its parts work.
/// Borrows what it is made from. Not thread-safe.
class PlugSite {
 public:
  /// Connect's site waits for an ovsdb-server that is down ([os_vif_ovs] ovsdb_wait).
  enum class Patience { kNone, kOvsdb };

  PlugSite(const DriverContext& context, const PlugRequest& request, Patience patience);
  /// For a plug without its plan and namespace: Disconnect.
  PlugSite(const DriverContext& context, const Plug& plug, const Attachment& attachment,
           const Deadline& deadline);

  [[nodiscard]] const BindingConfig& config() const noexcept { return context_.config; }
  [[nodiscard]] Shared& shared() const noexcept { return context_.shared; }
  [[nodiscard]] const Plug& plug() const noexcept { return plug_; }
  [[nodiscard]] const Attachment& attachment() const noexcept { return attachment_; }
  [[nodiscard]] const Deadline& deadline() const noexcept { return deadline_; }
  [[nodiscard]] bool HasPlan() const noexcept { return request_ != nullptr; }
  /// Only where HasPlan.
  [[nodiscard]] const PlugRequest& request() const noexcept { return *request_; }
  [[nodiscard]] const Planned& planned() const noexcept { return request_->planned; }
  [[nodiscard]] const Netns& pod() const noexcept { return request_->pod; }

  /// Opened when first used, in the calling thread's namespace and in the pod's.
  RouteSocket& host();
  RouteSocket& inside();
  /// Made when first used.
  PortSession& session();

  /// Connect removes what the owner of `link` has of this plug. A link without a mark is of this
  /// attachment's pod.
  void NoteLeftover(const Link& link);
  [[nodiscard]] const std::vector<Attachment>& leftovers() const noexcept { return leftovers_; }

  /// Leaves `link` of the host to RemoveLinks, which removes all of them with one request.
  void Discard(const Link& link) { discarded_.push_back(link); }
  void RemoveLinks();

  /// From here on the site is a rollback's: the request's time may have passed, or its caller have
  /// cancelled.
  void BeginUndo();

 private:
  const DriverContext& context_;
  const PlugRequest* request_ = nullptr;
  const Plug& plug_;
  const Attachment& attachment_;
  Deadline deadline_;
  Patience patience_ = Patience::kNone;
  std::optional<RouteSocket> host_;
  std::optional<RouteSocket> inside_;
  std::optional<PortSession> session_;
  std::vector<Attachment> leftovers_;
  std::vector<Link> discarded_;
};

}  // namespace kuryr::binding
