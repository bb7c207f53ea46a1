#pragma once

#include <cstdint>

namespace kuryr::binding {

/// The limit of one direction.
struct RateLimit {
  uint64_t rate = 0;   ///< bit/s; 0: no limit
  uint64_t burst = 0;  ///< bit; 0: the driver chooses

  bool operator==(const RateLimit&) const = default;
};

/// The limits of a pod's interface, seen from the pod (CNI CONVENTIONS, capability bandwidth).
struct RateLimits {
  RateLimit received;  ///< "ingress" in CNI
  RateLimit sent;      ///< "egress" in CNI

  [[nodiscard]] bool IsAny() const { return received.rate != 0 || sent.rate != 0; }

  bool operator==(const RateLimits&) const = default;
};

/// Limits of a port of Open vSwitch, in the columns of ovs-vswitchd.conf.db(5). What a pod sends
/// is policed at its port, and what it receives is shaped.
struct PortLimits {
  uint32_t policing_rate = 0;   ///< Interface.ingress_policing_rate, kbit/s; 0: no limit
  uint32_t policing_burst = 0;  ///< Interface.ingress_policing_burst, kbit
  uint64_t max_rate = 0;        ///< of the port's QoS row, bit/s; 0: no limit
  uint64_t max_burst = 0;       ///< of the row, or of its queue, bit; 0: Open vSwitch's own

  bool operator==(const PortLimits&) const = default;
};

/// The limits as ovs-vswitchd 3.1 and the kernel can apply them. ovs-vswitchd counts a rate in 32
/// bits of byte/s, so a higher rate is set to 34 Gbit/s. The kernel counts a burst as a time, and a
/// burst is at most 100 s of the rate.
[[nodiscard]] PortLimits PortLimitsOf(const RateLimits& limits);
/// The burst of a policer, in bit: at least two packets of 64 KiB, which the kernel has merged and
/// which the policer would drop whole. Without a burst, Open vSwitch's 8 Mbit or 10 ms of the rate.
[[nodiscard]] uint64_t PolicerBurst(const RateLimit& limit);

}  // namespace kuryr::binding
