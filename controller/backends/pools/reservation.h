#pragma once

#include <vector>

#include "controller/backends/backend.h"
#include "controller/backends/pools/allocator.h"
#include "controller/backends/pools/holder.h"
#include "controller/backends/pools/ledger.h"
#include "controller/backends/pools/lines.h"
#include "controller/backends/pools/segment.h"

namespace kuryr::controller::pools {

/// A set has no number for who asks.
class SetExhausted : public BackendError {
 public:
  SetExhausted(const std::string& message, AddressSet& set)
      : BackendError(Kind::kExhausted, message), set_(set) {}
  [[nodiscard]] AddressSet& set() const noexcept { return set_; }

 private:
  AddressSet& set_;
};

/// One interface that is being planned: what it has taken of its pool goes back at the end, unless
/// it is kept. Not thread-safe.
class Reservation {
 public:
  /// Whom it is for.
  struct Asker {
    const std::string& id;  ///< the owner's
    const Holder& holder;
    const Holder* lender;  ///< a claim whose addresses it may have; nullptr: none
  };

  /// What outlives it. Who waits in `lines` goes first.
  struct Book {
    Allocator& allocator;
    Segment segment;  ///< the allocator's
    Ledger& ledger;
    const Lines& lines;
  };

  Reservation(const Book& book, const Asker& asker, TimePoint now)
      : allocator_(book.allocator),
        segment_(book.segment),
        ledger_(book.ledger),
        lines_(book.lines),
        id_(asker.id),
        holder_(asker.holder),
        lender_(asker.lender),
        now_(now) {}
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation();

  /// Takes the addresses, MAC and VLAN id of the interface. The node's networks are known to the
  /// allocator. Throws SetExhausted and BackendError.
  void Take(const InterfaceRequest& interface, const std::vector<IpNetwork>& node_networks);
  /// It is the holder's, who has it in its holdings from now on.
  [[nodiscard]] Holding Keep();

 private:
  using Networks = std::vector<Allocator::Network*>;

  [[nodiscard]] Networks NetworksFor(const std::vector<IpNetwork>& node_networks);
  /// `what` it has none of is for the message.
  [[nodiscard]] Number TakeNext(AddressSet& set, const std::string& what);
  void TakeFixed(const Networks& networks, const IpAddress& address);
  void TakeMac(const MacAddress& mac);
  void ChooseMac();
  void TakeVlan();
  void Claim();
  [[nodiscard]] bool IsLent(const Resource& resource) const {
    return lender_ != nullptr && ledger_.Find(resource) == lender_;
  }
  /// The holder has it, and no plan of it does.
  [[nodiscard]] bool HasBeside(const Resource& resource) const;
  [[nodiscard]] std::string PoolText() const;
  [[nodiscard]] std::string Describe(const Holder* other) const;

  Allocator& allocator_;
  const Segment segment_;
  Ledger& ledger_;
  const Lines& lines_;
  const std::string& id_;
  const Holder& holder_;
  const Holder* const lender_;
  const TimePoint now_;
  Holding holding_;
  bool kept_ = false;
};

}  // namespace kuryr::controller::pools
