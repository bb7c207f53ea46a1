#include <algorithm>
#include <random>
#include <set>

#include "tests/controller/backends/pools/backend_fixture.h"

namespace kuryr::controller::pools {
namespace {

using std::chrono::seconds;

constexpr const char* kPool =
    "[pool:blue]\ncidr = 10.1.0.0/27, fd00::/122\nexcluded = 10.1.0.9-10.1.0.11\ndefault = true\n";
constexpr int kAddresses = 26;  ///< IPv4 addresses: 32, less network, broadcast, gateway and 3
constexpr seconds kRest{30};
constexpr seconds kUntilSpare{5};
/// A check asks for all plans again, which takes most of the time. An error persists, so a later
/// check finds it.
constexpr int kStepsBetweenChecks = 10;

/// A controller with few objects and a clock of its own. Random steps do everything that a pool may
/// see; a simple list says what must hold.
class LocalModelTest : public PoolBackendTest {
 protected:
  struct Written {
    Owner owner;
    Vifs vifs;
    std::vector<IpAddress> former = {};  ///< addresses of an earlier plan
  };

  void Step() {
    switch (random_() % 11) {
      case 0:
      case 1:
      case 2:
      case 3:
        return Add();
      case 4:
      case 5:
      case 6:
        return Remove();
      case 7:
        return AddFixed();
      case 8:
        return Collide();
      case 9:
        return Pass(seconds(random_() % 12));
      default:
        if (random_() % 20 == 0) Restart();
    }
  }

  void Add() { Keep(RequestOf(Next())); }

  void AddFixed() {
    PlanRequest request = RequestOf(Next());
    request.interfaces[0].addresses = {AddressOf(NumberOf(Ip("10.1.0.0")) + random_() % 32)};
    const IpAddress address = request.interfaces[0].addresses[0];
    const bool free = IsFree(address.ToString()) && address > Ip("10.1.0.1") &&
                      address < Ip("10.1.0.31") &&
                      (address < Ip("10.1.0.9") || address > Ip("10.1.0.11"));
    EXPECT_EQ(Keep(request), free) << address.ToString();
  }

  /// A new pod's plan has the addresses of another pod, and the new pod gets others.
  void Collide() {
    if (written_.empty()) return;
    const Written& other = written_[random_() % written_.size()];
    const Owner owner = Next();
    PlanRequest request = RequestOf(owner);
    for (const std::string& address : AddressesOf(other.vifs.at(0)))
      request.interfaces[0].addresses.push_back(Ip(address));
    const std::vector<IpAddress> former = request.interfaces[0].addresses;
    EXPECT_EQ(FailToAdopt(owner, *PoolBackend(ReadPoolsOf(kPool), 1).Reserve(request)).kind,
              Kind::kRefused);
    request = RequestOf(owner);
    request.anew = true;
    if (Keep(request)) written_.back().former = former;
    if (!written_.empty() && written_.back().owner == owner) AdoptFormer(written_.back());
  }

  void AdoptFormer(const Written& written) {
    if (written.former.empty()) return;
    backend_->KeepBeside(written.owner, {.former = written.former});
  }

  bool IsFree(const std::string& address) {
    const auto released = released_.find(address);
    return !Taken().contains(address) &&
           (released == released_.end() || released->second + kRest <= now_);
  }

  /// Whether the pool may give this IPv4 address: it is free, or none is, and no other one rests
  /// longer.
  bool IsDue(const std::string& address) {
    if (IsFree(address)) return true;
    const std::set<std::string> taken = Taken();
    if (taken.contains(address) || FreeIpv4() > 0) return false;
    const TimePoint since = released_.at(address);
    return since + kUntilSpare <= now_ &&
           std::none_of(released_.begin(), released_.end(), [&](const auto& other) {
             return other.first.starts_with("10.") && !taken.contains(other.first) &&
                    other.second < since;
           });
  }

  bool Keep(const PlanRequest& request) {
    Vifs vifs;
    const Failure failure = FailureOf([&] { vifs = Reserve(request); });
    if (failure.kind) {
      EXPECT_FALSE(request.interfaces[0].addresses.empty() && CountResting(kUntilSpare) < Idle())
          << failure.text;
      backend_->Release(request.owner.id);  // The owner leaves the line.
      return false;
    }
    for (const std::string& address : AddressesOf(vifs.at(0)))
      EXPECT_TRUE(address.starts_with("10.") ? IsDue(address) : IsFree(address)) << address;
    written_.push_back({request.owner, std::move(vifs)});
    return true;
  }

  void Remove() {
    if (written_.empty()) return;
    const auto gone = written_.begin() + static_cast<long>(random_() % written_.size());
    std::vector<std::string> addresses = AddressesOf(gone->vifs.at(0));
    for (const IpAddress& address : gone->former) addresses.push_back(address.ToString());
    backend_->Release(gone->owner.id);
    written_.erase(gone);
    const std::set<std::string> taken = Taken();
    for (const std::string& address : addresses) {
      if (!taken.contains(address)) released_[address] = now_;
    }
  }

  /// A restart forgets rests, but no written plan, in whatever order plans are told.
  void Restart() {
    Start(kPool, random_());
    released_.clear();
    std::shuffle(written_.begin(), written_.end(), random_);
    for (const Written& written : written_) backend_->Adopt(written.owner, written.vifs);
    for (const Written& written : written_) AdoptFormer(written);
  }

  void Check() {
    std::set<std::string> macs;
    size_t addresses = 0;
    for (const Written& written : written_) {
      ASSERT_EQ(Reserve(written.owner), written.vifs);
      macs.insert(MacOf(written.vifs.at(0)));
      addresses += AddressesOf(written.vifs.at(0)).size();
    }
    ASSERT_EQ(macs.size(), written_.size());
    ASSERT_EQ(Planned().size(), addresses);
    const NetworkUsage usage = UsageOf("blue");
    ASSERT_EQ(usage.limit, double{kAddresses});
    ASSERT_EQ(static_cast<int>(usage.used), CountIpv4(Taken()));
    ASSERT_EQ(static_cast<int>(usage.resting),
              kAddresses - FreeIpv4() - static_cast<int>(usage.used));
    ASSERT_EQ(backend_->Inventory().size(), written_.size());
  }

  std::set<std::string> Planned() const {
    std::set<std::string> planned;
    for (const Written& written : written_) {
      for (const std::string& address : AddressesOf(written.vifs.at(0))) planned.insert(address);
    }
    return planned;
  }
  std::set<std::string> Taken() const {
    std::set<std::string> taken = Planned();
    for (const Written& written : written_) {
      for (const IpAddress& address : written.former) taken.insert(address.ToString());
    }
    return taken;
  }
  static int CountIpv4(const std::set<std::string>& addresses) {
    return static_cast<int>(std::count_if(addresses.begin(), addresses.end(),
                                          [](const auto& one) { return one.starts_with("10."); }));
  }

  /// IPv4 addresses that were released less than `time` ago.
  int CountResting(seconds time) const {
    const std::set<std::string> taken = Taken();
    return static_cast<int>(
        std::count_if(released_.begin(), released_.end(), [&](const auto& released) {
          return released.first.starts_with("10.") && !taken.contains(released.first) &&
                 released.second + time > now_;
        }));
  }
  int Idle() const { return kAddresses - CountIpv4(Taken()); }
  int FreeIpv4() const { return Idle() - CountResting(kRest); }

  Owner Next() { return Pod(std::to_string(++pods_)); }

  std::mt19937 random_{17};
  int pods_ = 0;
  std::vector<Written> written_;
  std::map<std::string, TimePoint> released_;
};

TEST_F(LocalModelTest, WhateverHappensNoAddressIsGivenTwiceOrLost) {
  Start(kPool);
  for (int step = 0; step < 4000; ++step) {
    Step();
    if (step % kStepsBetweenChecks == 0) Check();
    if (HasFailure()) FAIL() << "in step " << step;
  }
  for (const Written& written : written_) backend_->Release(written.owner.id);
  Pass(kRest);
  const NetworkUsage usage = UsageOf("blue");
  EXPECT_EQ(usage.used + usage.resting, 0U);
}

}  // namespace
}  // namespace kuryr::controller::pools
