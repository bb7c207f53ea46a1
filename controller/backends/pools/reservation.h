#pragma once

#include <vector>

#include "controller/backends/backend.h"
#include "controller/backends/pools/allocator.h"
#include "controller/backends/pools/holder.h"
#include "controller/backends/pools/ledger.h"
#include "controller/backends/pools/lines.h"
#include "controller/backends/pools/segment.h"

namespace kuryr::controller::pools {

/// A set has no free number for the owner.
class SetExhausted : public PlanError {
 public:
  SetExhausted(const std::string& message, AddressSet& set)
      : PlanError(Kind::kExhausted, message), set_(set) {}
  [[nodiscard]] AddressSet& set() const noexcept { return set_; }

 private:
  AddressSet& set_;
};

/// The plan of one interface in the making. The destructor gives back what it took, unless Keep was
/// called. Not thread-safe.
class Reservation {
 public:
  /// The owner of the interface.
  struct Asker {
    const std::string& id;  ///< the owner's
    const Holder& holder;
    const Holder* lender;  ///< a claim whose addresses the owner may use; nullptr: none
    bool is_node = false;
  };

  /// The parts of the backend that outlive it. Owners that wait in `lines` go first.
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
        is_node_(asker.is_node),
        now_(now) {}
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation();

  /// Takes the addresses, MAC and VLAN id of the interface. The allocator must know the node's
  /// networks. Throws SetExhausted and PlanError.
  void Take(const InterfaceRequest& interface, const std::vector<IpNetwork>& node_networks);
  /// Ends the reservation; the caller adds the result to the holder's holdings.
  [[nodiscard]] Holding Keep();

 private:
  using Networks = std::vector<Allocator::Network*>;

  [[nodiscard]] Networks NetworksFor(const std::vector<IpNetwork>& node_networks);
  [[nodiscard]] Number TakeAny(Allocator::Network& network);
  /// `what` names the number in the error message.
  [[nodiscard]] Number TakeNext(AddressSet& set, const std::string& what);
  void TakeFixed(const Networks& networks, const IpAddress& address);
  void TakeMac(const MacAddress& mac);
  void ChooseMac();
  void TakeVlan();
  void Claim();
  [[nodiscard]] bool IsLent(const Resource& resource) const {
    return lender_ != nullptr && ledger_.Find(resource) == lender_;
  }
  /// Whether the holder has the resource beside its plan, and not in its plan.
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
  const bool is_node_;
  const TimePoint now_;
  Holding holding_;
  bool kept_ = false;
};

}  // namespace kuryr::controller::pools
