#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace kuryr::controller {

/// The fields of a Lease (coordination.k8s.io/v1) that an election needs.
struct Lease {
  std::string version;      ///< metadata.resourceVersion; empty if the Lease does not exist
  std::string holder;       ///< spec.holderIdentity; empty: none
  int64_t transitions = 0;  ///< spec.leaseTransitions
  std::string record;       ///< the whole spec, which every renewal changes
  std::optional<std::chrono::sys_seconds> renewed;  ///< spec.renewTime, by the holder's clock
  std::chrono::seconds duration{};                  ///< spec.leaseDurationSeconds
};

/// "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
[[nodiscard]] std::string LeasesPath(const std::string& name_space);

/// A field of the spec that has another type counts as missing: no holder, 0, or no time. Throws
/// ParseError for an object without a version.
[[nodiscard]] Lease ParseLease(const nlohmann::json& object);

/// The new holder of a Lease, and for how long.
struct Tenure {
  std::string holder;  ///< empty: none
  std::chrono::milliseconds duration;
  std::chrono::system_clock::time_point now;
};

/// A merge patch of `lease` for the new holder. The API server answers 409 if the Lease changed
/// meanwhile. The time of acquisition and the number of transitions change only with the holder.
[[nodiscard]] nlohmann::json LeasePatch(const Lease& lease, const Tenure& tenure);
/// The object of a new Lease.
[[nodiscard]] nlohmann::json NewLease(const std::string& name, const Tenure& tenure);

}  // namespace kuryr::controller
