#include "controller/backends/pools/reservation.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace kuryr::controller::pools {
namespace {

using Kind = PlanError::Kind;
using Taken = AddressSet::Taken;

constexpr size_t kMostAddresses = 16;

std::chrono::milliseconds Until(TimePoint end, TimePoint now) {
  return std::chrono::ceil<std::chrono::milliseconds>(end - now);
}

}  // namespace

Reservation::~Reservation() {
  if (kept_) return;
  for (const Resource& resource : allocator_.ResourcesOf(holding_, holder_.node)) {
    if (HasBeside(resource)) continue;
    // A number that was taken and not claimed yet goes back as well.
    ledger_.Release(resource, holder_);
    if (ledger_.Find(resource) == nullptr) allocator_.GiveBack(resource, holder_);
  }
}

Holding Reservation::Keep() {
  kept_ = true;
  return std::move(holding_);
}

std::string Reservation::PoolText() const { return "pool \"" + allocator_.pool().name + "\""; }

/// Does not name pods of other namespaces.
std::string Reservation::Describe(const Holder* other) const {
  if (other == nullptr) return "nobody";
  if (other == &holder_) return "another interface of this pod";
  return other->scope == holder_.scope ? Printable(other->FullName()) : "another pod";
}

void Reservation::Take(const InterfaceRequest& interface,
                       const std::vector<IpNetwork>& node_networks) {
  holding_.ifname = interface.ifname;
  holding_.is_default = interface.is_default;
  holding_.pool = allocator_.index();
  holding_.planned = true;
  const Networks networks = NetworksFor(node_networks);
  if (interface.addresses.empty()) {
    for (Allocator::Network* network : networks) holding_.addresses.push_back(TakeAny(*network));
  }
  if (interface.addresses.size() > kMostAddresses) {
    throw PlanError(Kind::kRefused, std::to_string(interface.addresses.size()) +
                                        " addresses are more than one interface may have, " +
                                        std::to_string(kMostAddresses));
  }
  for (const IpAddress& address : interface.addresses) TakeFixed(networks, address);
  if (interface.mac) {
    TakeMac(*interface.mac);
  } else {
    ChooseMac();
  }
  if (allocator_.pool().kind == VifKind::kVlan) TakeVlan();
  Claim();
}

Reservation::Networks Reservation::NetworksFor(const std::vector<IpNetwork>& node_networks) {
  Networks networks;
  for (auto& [cidr, network] : allocator_.networks()) {
    const bool is_nodes =
        std::find(node_networks.begin(), node_networks.end(), cidr) != node_networks.end();
    if (!allocator_.pool().from_node || is_nodes) networks.push_back(&network);
  }
  if (!networks.empty()) return networks;
  throw PlanError(Kind::kRetry, "node " + Printable(holder_.node) +
                                    " has no networks of its own yet, of which " + PoolText() +
                                    " takes addresses (from_node)");
}

/// A node gets the gateway of its routed network, which no pod gets.
Number Reservation::TakeAny(Allocator::Network& network) {
  if (is_node_ && allocator_.pool().routed) return NumberOf(network.gateway.value());
  return TakeNext(network.addresses, "address in " + network.cidr.ToString());
}

Number Reservation::TakeNext(AddressSet& set, const std::string& what) {
  if (lines_.MayTake(set, id_, now_)) {
    if (const auto taken = set.TakeNext(now_)) return *taken;
  }
  std::string message = PoolText() + " has no free " + what + ": " +
                        std::to_string(static_cast<uint64_t>(set.taken())) + " are taken";
  if (set.resting(now_) > 0)
    message += ", " + std::to_string(set.resting(now_)) + " rest after their release";
  throw SetExhausted(message, set);
}

void Reservation::TakeFixed(const Networks& networks, const IpAddress& address) {
  const std::string what = "address " + address.ToString() + " of " + PoolText();
  const Number number = NumberOf(address);
  const auto network = std::find_if(networks.begin(), networks.end(), [&](const auto* known) {
    return known->cidr.Contains(address);
  });
  const auto taken = network == networks.end()
                         ? Taken::kNotHere
                         : (*network)->addresses.Take(number, now_, RestKeyOf(holder_));
  switch (taken) {
    case Taken::kYes:
      holding_.addresses.push_back(number);
      return;
    case Taken::kNotHere:
      throw PlanError(Kind::kRefused,
                      what + " is none that it gives: see its cidr, ranges and excluded");
    case Taken::kResting: {
      const auto rest = Until((*network)->addresses.RestOf(number).value_or(now_), now_);
      throw PlanError(Kind::kRetry, what + " rests after its release", rest);
    }
    case Taken::kNotFree:
      break;
  }
  const bool twice = std::find(holding_.addresses.begin(), holding_.addresses.end(), number) !=
                     holding_.addresses.end();
  if (twice) throw PlanError(Kind::kRefused, what + " is asked for twice");
  const Resource resource = {.number = number, .pool = allocator_.index()};
  if (!IsLent(resource) && !HasBeside(resource))
    throw PlanError(Kind::kExhausted, what + " is taken by " + Describe(ledger_.Find(resource)));
  holding_.addresses.push_back(number);
}

void Reservation::TakeMac(const MacAddress& mac) {
  if (const auto why = Segment::WhyNotFor(holding_.addresses, mac))
    throw PlanError(Kind::kRefused, *why);
  if (const Holder* other = segment_.FindMac(mac)) {
    throw PlanError(Kind::kExhausted, "MAC address " + mac.ToString() + " is taken in " +
                                          PoolText() + " by " + Describe(other));
  }
  holding_.mac = mac;
}

/// Tries again while another interface of the segment has the MAC.
void Reservation::ChooseMac() {
  uint32_t attempt = 0;
  do {
    holding_.mac = allocator_.MacFor(holding_.addresses, attempt++);
  } while (segment_.FindMac(holding_.mac) != nullptr);
}

bool Reservation::HasBeside(const Resource& resource) const {
  if (resource.kind != Resource::Kind::kAddress || ledger_.Find(resource) != &holder_) return false;
  const auto has = [&](const Holding& holding) {
    return holding.pool == resource.pool &&
           std::find(holding.addresses.begin(), holding.addresses.end(), resource.number) !=
               holding.addresses.end();
  };
  const auto& all = holder_.holdings;
  return std::any_of(all.begin(), all.end(),
                     [&](const Holding& one) { return one.beside && has(one); }) &&
         std::none_of(all.begin(), all.end(),
                      [&](const Holding& one) { return one.planned && has(one); });
}

void Reservation::TakeVlan() {
  holding_.vlan = static_cast<uint16_t>(
      TakeNext(allocator_.VlansOf(holder_.node), "VLAN id on node " + Printable(holder_.node)));
}

void Reservation::Claim() {
  for (const Resource& resource : allocator_.ResourcesOf(holding_, holder_.node)) {
    if (IsLent(resource)) {
      ledger_.Lend(resource, *lender_, holder_);
    } else {
      ledger_.Claim(resource, holder_);
    }
  }
}

}  // namespace kuryr::controller::pools
