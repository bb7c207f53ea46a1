#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace kuryr::controller {

/// What an election needs of a Lease (coordination.k8s.io/v1).
struct Lease {
  std::string version;      ///< metadata.resourceVersion; empty when there is none (any more)
  std::string holder;       ///< spec.holderIdentity; empty for nobody
  int64_t transitions = 0;  ///< spec.leaseTransitions
  std::string record;       ///< the whole spec: changes with every renewal
  std::optional<std::chrono::sys_seconds> renewed;  ///< spec.renewTime, by the holder's clock
  std::chrono::seconds duration{};                  ///< spec.leaseDurationSeconds
};

/// "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
[[nodiscard]] std::string LeasesPath(const std::string& name_space);

/// A member of the spec that has another type counts as missing: nobody, 0, or no time. Throws
/// ParseError for what has no version.
[[nodiscard]] Lease ParseLease(const nlohmann::json& object);

/// Who holds a Lease from now on.
struct Tenure {
  std::string holder;  ///< empty for nobody
  std::chrono::milliseconds duration;
  std::chrono::system_clock::time_point now;
};

/// What a merge patch makes of `lease`, which fails with 409 when that has changed since. The time
/// of acquisition and the number of transitions change with the holder only.
[[nodiscard]] nlohmann::json LeasePatch(const Lease& lease, const Tenure& tenure);
/// A new one.
[[nodiscard]] nlohmann::json NewLease(const std::string& name, const Tenure& tenure);

}  // namespace kuryr::controller
