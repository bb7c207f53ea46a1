#include "binding/ovs/port_limits.h"

#include <algorithm>

namespace kuryr::binding {
namespace {

constexpr uint64_t kMostRate = 34'000'000'000;
constexpr uint64_t kMostSeconds = 100;

uint64_t RateOf(const RateLimit& limit) { return std::min(limit.rate, kMostRate); }

uint32_t InThousands(uint64_t number) {
  constexpr uint64_t kThousand = 1000;
  return static_cast<uint32_t>((number + kThousand - 1) / kThousand);
}

}  // namespace

uint64_t PolicerBurst(const RateLimit& limit) {
  constexpr uint64_t kLeast = uint64_t{2} * 64 * 1024 * 8;
  constexpr uint64_t kDefault = 8'000'000;
  constexpr uint64_t kDefaultParts = 100;  // of a second
  const uint64_t rate = RateOf(limit);
  const uint64_t burst =
      limit.burst != 0 ? std::max(limit.burst, kLeast) : std::max(kDefault, rate / kDefaultParts);
  return std::min(burst, rate * kMostSeconds);
}

PortLimits PortLimitsOf(const RateLimits& limits) {
  PortLimits port;
  if (limits.sent.rate != 0) {
    port.policing_rate = InThousands(RateOf(limits.sent));
    port.policing_burst = InThousands(PolicerBurst(limits.sent));
  }
  if (limits.received.rate != 0) {
    port.max_rate = RateOf(limits.received);
    port.max_burst = std::min(limits.received.burst, port.max_rate * kMostSeconds);
  }
  return port;
}

}  // namespace kuryr::binding
