#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/neutron/api/neutron_api.h"

namespace kuryr::controller::neutron {

/// A network with those of its subnets that an interface is to be in.
struct PodNetwork {
  [[nodiscard]] const Subnet* Find(const std::string& id) const;
  /// nullptr: no subnet has that address.
  [[nodiscard]] const Subnet* FindFor(const IpAddress& address) const;

  Network network;
  std::vector<Subnet> subnets;
  /// Whether a subnet of the network uses SLAAC, also one that the interface did not ask for.
  /// Neutron then answers a request for several ports with an internal error (500).
  bool has_slaac = false;
};

/// Networks and subnets as Neutron has them, cached for a minute. Thread-safe.
class Networks {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kFresh{60};

  /// Borrows the API.
  explicit Networks(NeutronApi& api) : api_(api) {}

  /// Throws NeutronError, and PlanError kRefused if the subnets are of several networks.
  [[nodiscard]] PodNetwork Find(const std::vector<std::string>& subnet_ids) EXCLUDES(mutex_);
  /// Whether the subnet gives each port of its network an address, asked for or not. Throws
  /// NeutronError.
  [[nodiscard]] bool IsSlaac(const std::string& subnet_id) EXCLUDES(mutex_) {
    return FindSubnet(subnet_id).is_slaac;
  }
  /// Forgets all, because something is gone.
  void Forget() EXCLUDES(mutex_);

 private:
  template <typename T>
  struct Known {
    T value;
    Clock::time_point until;
  };
  template <typename T>
  using Cache = std::unordered_map<std::string, Known<T>>;

  [[nodiscard]] Subnet FindSubnet(const std::string& id) EXCLUDES(mutex_);
  /// Without subnets.
  [[nodiscard]] PodNetwork FindNetwork(const std::string& id) EXCLUDES(mutex_);

  NeutronApi& api_;
  Mutex mutex_;
  Cache<Subnet> subnets_ GUARDED_BY(mutex_);
  Cache<PodNetwork> networks_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller::neutron
