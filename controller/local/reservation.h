#pragma once

#include <vector>

#include "controller/backend.h"
#include "controller/local/allocator.h"
#include "controller/local/holder.h"
#include "controller/local/ledger.h"

namespace kuryr::controller::local {

/// One interface that is being planned: what it has taken of its pool goes back at the end, unless
/// it is kept. Not thread-safe.
class Reservation {
 public:
  /// All of them outlive it. `holder` is whom it is for, `lender` a claim whose addresses it may
  /// have; nullptr: none.
  Reservation(Allocator& allocator, Ledger& ledger, const Holder& holder, const Holder* lender,
              TimePoint now)
      : allocator_(allocator), ledger_(ledger), holder_(holder), lender_(lender), now_(now) {}
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation();

  /// Takes the addresses, MAC and VLAN id of the interface. The node's networks are known to the
  /// allocator. Throws BackendError.
  void Take(const InterfaceRequest& interface, const std::vector<IpNetwork>& node_networks);
  /// It is the holder's, who has it in its holdings from now on.
  [[nodiscard]] Holding Keep();

 private:
  using Networks = std::vector<Allocator::Network*>;

  [[nodiscard]] Networks NetworksFor(const std::vector<IpNetwork>& node_networks);
  void TakeAddress(Allocator::Network& network);
  void TakeFixed(const Networks& networks, const IpAddress& address);
  void TakeMac(const MacAddress& mac);
  void ChooseMac();
  void TakeVlan();
  void Claim();
  [[nodiscard]] bool IsLent(const Resource& resource) const {
    return lender_ != nullptr && ledger_.Find(resource) == lender_;
  }
  [[nodiscard]] std::string PoolText() const;
  [[nodiscard]] std::string Describe(const Holder* other) const;

  Allocator& allocator_;
  Ledger& ledger_;
  const Holder& holder_;
  const Holder* const lender_;
  const TimePoint now_;
  Holding holding_;
  bool kept_ = false;
};

}  // namespace kuryr::controller::local
