#include "controller/election/lease.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "controller/election/api_time.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;
using std::chrono::system_clock;

/// The largest number in a Lease, an int32.
constexpr int64_t kMostNumber = std::numeric_limits<int32_t>::max();

/// A MicroTime (meta/v1) with six digits, the only number that the API server accepts.
std::string MicroTime(system_clock::time_point time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(time - second);
  const std::time_t since_epoch = system_clock::to_time_t(second);
  std::tm parts{};
  ::gmtime_r(&since_epoch, &parts);
  std::array<char, 64> text{};
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data() + length, text.size() - length, ".%06dZ",
                static_cast<int>(rest.count()));
  return text.data();
}

/// Whole seconds, at least one, as the API server demands.
int64_t DurationSeconds(const Tenure& tenure) {
  return std::max<int64_t>(std::chrono::ceil<std::chrono::seconds>(tenure.duration).count(), 1);
}

int64_t NumberAt(const json& spec, const char* key) {
  const auto number = spec.find(key);
  if (number == spec.end() || !number->is_number_integer()) return 0;
  return std::clamp<int64_t>(number->get<int64_t>(), 0, kMostNumber);
}

json Renewed(const Tenure& tenure) {
  return {{"holderIdentity", tenure.holder},
          {"leaseDurationSeconds", DurationSeconds(tenure)},
          {"renewTime", MicroTime(tenure.now)}};
}

}  // namespace

std::string LeasesPath(const std::string& name_space) {
  return "/apis/coordination.k8s.io/v1/namespaces/" + name_space + "/leases";
}

Lease ParseLease(const json& object) {
  const json metadata = object.is_object() ? object.value("metadata", json()) : json();
  const json spec = object.is_object() ? object.value("spec", json()) : json();
  Lease lease = {.version = StringAt(metadata, "resourceVersion"),
                 .holder = StringAt(spec, "holderIdentity"),
                 .record = spec.dump()};
  if (lease.version.empty())
    throw ParseError("$.metadata.resourceVersion", "missing; every Lease has one");
  if (!spec.is_object()) return lease;
  lease.transitions = NumberAt(spec, "leaseTransitions");
  lease.renewed = ParseTime(StringAt(spec, "renewTime"));
  lease.duration = std::chrono::seconds(NumberAt(spec, "leaseDurationSeconds"));
  return lease;
}

json LeasePatch(const Lease& lease, const Tenure& tenure) {
  json spec = Renewed(tenure);
  if (tenure.holder != lease.holder && !tenure.holder.empty()) {
    spec["acquireTime"] = spec["renewTime"];
    spec["leaseTransitions"] = std::min(lease.transitions + 1, kMostNumber);
  }
  return {{"metadata", {{"resourceVersion", lease.version}}}, {"spec", std::move(spec)}};
}

json NewLease(const std::string& name, const Tenure& tenure) {
  json spec = Renewed(tenure);
  spec["acquireTime"] = spec["renewTime"];
  spec["leaseTransitions"] = 0;
  return {{"apiVersion", "coordination.k8s.io/v1"},
          {"kind", "Lease"},
          {"metadata", {{"name", name}}},
          {"spec", std::move(spec)}};
}

}  // namespace kuryr::controller
