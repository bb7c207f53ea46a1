#include "controller/commands/leader.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "controller/election/api_time.h"
#include "controller/election/lease.h"
#include "service/table.h"
#include "watcher/api_error.h"

namespace kuryr::controller {

Leader FindLeader(const Config& config, watcher::ApiClient& client) {
  using watcher::ApiError;
  if (!config.leader_elect) return {.unknown = "[controller] leader_elect is off"};
  try {
    const Lease lease =
        ParseLease(client.Get(LeasesPath(config.lease_namespace) + "/" + config.lease_name));
    Leader leader{.holder = lease.holder};
    if (lease.renewed) leader.age = AgeOf(*lease.renewed);
    leader.leads = !lease.holder.empty() && leader.age && *leader.age < lease.duration;
    return leader;
  } catch (const ApiError& e) {
    if (e.code() == ApiError::kNotFound) return {};
    if (e.code() == ApiError::kForbidden) return {.unknown = e.what()};
    throw;
  }
}

std::string Readable(const Leader& leader) {
  if (!leader.unknown.empty()) return "who leads is not known: " + leader.unknown;
  const std::string renewed = leader.age ? "renewed " + service::Age(*leader.age) + " ago" : "";
  if (leader.leads) return Printable(leader.holder, 300) + " leads, " + renewed;
  if (leader.holder.empty()) return "nobody leads";
  return "nobody leads; the Lease is " + Printable(leader.holder, 300) + "'s, " +
         (renewed.empty() ? "never renewed" : renewed);
}

}  // namespace kuryr::controller
