#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/backends/facets.h"
#include "controller/plan/plan_error.h"
#include "controller/plan/plan_request.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// Gives VIFs to owners. A backend does not know Kubernetes, and stores nothing on disk. After a
/// start, Adopt tells it all plans that are written on objects, before the first Reserve. Only
/// Inventory waits for a server. The other calls leave longer work to a thread, and the backend
/// wakes the owner when its next call may have another answer (BackendHooks::wake). A repeated call
/// changes nothing. Thread-safe. Reserve, Adopt and Release throw PlanError.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// The VIFs for all interfaces of the request, the default one first. Every call until Release
  /// returns the same VIFs. All or nothing: an error reserves nothing new. nullopt: under way. With
  /// `anew`, an interface without wishes gets another VIF when the one it had has rivals; the
  /// addresses of the former VIF are kept from others until Release.
  [[nodiscard]] virtual std::optional<std::vector<vif::PodVif>> Reserve(
      const PlanRequest& request) = 0;

  /// Whether this backend planned the VIF for this owner.
  [[nodiscard]] virtual bool Owns(const Owner& owner, const vif::PodVif& vif) const = 0;

  /// The owner has these VIFs, which Owns knows: they are written. Addresses of networks that are
  /// gone are kept from others where another network has them. PlanError kRefused names the
  /// other owner when one of the VIFs is another owner's already; the rest is kept then.
  virtual void Adopt(const Owner& owner, const std::vector<vif::PodVif>& vifs) = 0;

  /// All plans that are written have been adopted. Called once, before the first Reserve.
  virtual void EndAdoption() {}

  /// Whether traffic may pass through the VIFs that Reserve gave. If not, the backend wakes the
  /// owner once it may.
  [[nodiscard]] virtual bool Await(const Owner& owner, const std::vector<vif::PodVif>& vifs) = 0;

  /// Frees all that the owner of this id has, after a rest. True: nothing is left; false: under
  /// way.
  virtual bool Release(const std::string& owner_id) = 0;

  /// The owners that have something here. An owner that the cluster does not have is an orphan.
  [[nodiscard]] virtual std::vector<Owner> Inventory() const = 0;

  /// Its other abilities.
  [[nodiscard]] virtual Facets facets() { return {}; }
};

}  // namespace kuryr::controller
