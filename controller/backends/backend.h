#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/backends/facets.h"
#include "controller/plan/plan_error.h"
#include "controller/plan/plan_request.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// Where VIFs come from. A backend knows nothing of Kubernetes, and keeps nothing on disk. After a
/// start, Adopt tells it of all plans that are written on objects, before the first Reserve. Only
/// Inventory waits for a server. Work that takes longer goes on behind the other calls, and the
/// backend wakes the owner when asking again is worth it (BackendHooks::wake). Every call may be
/// repeated and changes nothing then. Thread-safe. Reserve, Adopt and Release throw PlanError.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// The VIFs for all of the request's interfaces, the default one first; the same ones at every
  /// call until Release. All or nothing: an error leaves nothing reserved that was not before.
  /// nullopt: under way. With `anew`, an interface without wishes gets another VIF when the one it
  /// had has rivals; the addresses of the former VIF are kept from others until Release.
  [[nodiscard]] virtual std::optional<std::vector<vif::PodVif>> Reserve(
      const PlanRequest& request) = 0;

  /// Whether this backend planned the VIF for this owner.
  [[nodiscard]] virtual bool Owns(const Owner& owner, const vif::PodVif& vif) const = 0;

  /// The owner has these VIFs, which Owns knows: they are written. Addresses of networks that are
  /// gone are kept from others where another network has them. PlanError kRefused names the
  /// other owner when one of the VIFs is another owner's already; the rest is kept then.
  virtual void Adopt(const Owner& owner, const std::vector<vif::PodVif>& vifs) = 0;

  /// Whether traffic may pass through the VIFs that Reserve gave. Where not, the backend wakes the
  /// owner once it may.
  [[nodiscard]] virtual bool Await(const Owner& owner, const std::vector<vif::PodVif>& vifs) = 0;

  /// Frees what the owner of this id had, after a rest. True when nothing of it is left; false:
  /// under way.
  virtual bool Release(const std::string& owner_id) = 0;

  /// Owners that have something here, by id. One that the cluster does not have is an orphan.
  [[nodiscard]] virtual std::vector<Owner> Inventory() const = 0;

  /// Its other abilities.
  [[nodiscard]] virtual Facets facets() { return {}; }
};

}  // namespace kuryr::controller
