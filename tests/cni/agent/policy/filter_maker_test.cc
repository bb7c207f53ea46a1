#include "cni/agent/policy/filter_maker.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cni/agent/policy/set_addresses.h"
#include "policy/policy_compiler.h"
#include "tests/policy/random_policy.h"
#include "tests/support/environment.h"

namespace kuryr::cni {
namespace {

using binding::FilterRule;
using nlohmann::json;
using policy::Labels;
using policy::PolicyChanges;
using policy::Traffic;
using policy::TrafficEnd;

constexpr size_t kPods = 10;
constexpr size_t kNamespaces = 3;
constexpr const policy::AdminKind& kAdmins = policy::kClusterPolicy;

Labels AsLabels(const json& object) { return object.get<Labels>(); }

/// A packet that begins a connection.
struct Packet {
  IpAddress from;
  IpAddress to;
  FilterRule::Protocol protocol;
  uint16_t port;
};

/// Decides as the kernel does, by the filter and the addresses of its sets.
class Kernel {
 public:
  Kernel(const binding::Filter& filter, const SetAddresses& sets) : filter_(filter), sets_(sets) {}

  [[nodiscard]] bool Sends(const Packet& packet) const {
    return Passes(filter_.senders, packet.from, packet.to, packet);
  }
  [[nodiscard]] bool Receives(const Packet& packet) const {
    return Passes(filter_.receivers, packet.to, packet.from, packet);
  }

 private:
  using Verdict = FilterRule::Verdict;

  [[nodiscard]] bool Passes(const std::map<IpAddress, std::string>& chains, const IpAddress& pod,
                            const IpAddress& peer, const Packet& packet) const {
    const auto chain = chains.find(pod);
    if (chain == chains.end() || packet.from == packet.to) return true;
    return Judge(chain->second, peer, packet) != Verdict::kDrop;
  }

  /// kReturn: the chain decides nothing.
  [[nodiscard]] Verdict Judge(const std::string& chain, const IpAddress& peer,
                              const Packet& packet) const {
    for (const FilterRule& rule : filter_.chains.at(chain)->rules) {
      if (!Matches(rule, peer, packet)) continue;
      const Verdict verdict =
          rule.verdict == Verdict::kJump ? Judge(rule.jump, peer, packet) : rule.verdict;
      if (rule.verdict == Verdict::kJump && verdict == Verdict::kReturn) continue;
      return verdict;
    }
    return Verdict::kReturn;
  }

  [[nodiscard]] bool Matches(const FilterRule& rule, const IpAddress& peer,
                             const Packet& packet) const {
    if (rule.family && (*rule.family != peer.family || !HasPeer(rule, peer))) return false;
    if (!rule.protocol) return true;
    if (*rule.protocol != packet.protocol) return false;
    return rule.ports.empty() || std::ranges::any_of(rule.ports, [&](const auto& range) {
             return range.first <= packet.port && packet.port <= range.last;
           });
  }

  [[nodiscard]] bool HasPeer(const FilterRule& rule, const IpAddress& peer) const {
    if (!rule.set.empty()) {
      const auto addresses = sets_.Of(rule.set);
      return std::ranges::binary_search(addresses, peer);
    }
    return std::ranges::any_of(rule.blocks, [&](const binding::NftInterval& block) {
      return block.begin <= peer && (!block.end || peer < *block.end);
    });
  }

  const binding::Filter& filter_;
  const SetAddresses& sets_;
};

/// A cluster whose pods, labels and policies change at random.
class FilterMakerTest : public ::testing::Test {
 protected:
  FilterMakerTest() {
    for (size_t i = 0; i < kNamespaces; ++i)
      Apply(compiler_.SetNamespace(NameOf(i), AsLabels(random_.NamespaceLabels())));
    for (size_t i = 0; i < kPods; ++i) SetPod(i);
  }

  static std::string NameOf(size_t name_space) { return "n" + std::to_string(name_space); }
  static IpAddress AddressOf(size_t pod) {
    return IpAddress::Parse("10.0." + std::to_string(pod % 4) + "." + std::to_string(pod)).value();
  }

  void Apply(const PolicyChanges& changes) {
    filters_.Forget(policies_, changes);
    policies_.Apply(changes);
    for (const auto& [member, sets] : changes.pods) sets_.SetSets(member, sets);
  }
  void SetPod(size_t i) {
    const std::string uid = std::to_string(i);
    local_[uid] = {AddressOf(i)};
    sets_.SetAddressesOf(uid, local_[uid]);
    Apply(compiler_.SetPod({.uid = uid,
                            .name_space = NameOf(i % kNamespaces),
                            .labels = AsLabels(random_.PodLabels()),
                            .ports = {{{"tcp", "http"}, 80}, {{"udp", "dns"}, 53}}}));
  }
  void ChangeSomething() {
    const size_t i = random_.Number(6);
    const std::string name = std::to_string(i);
    switch (random_.Number(5)) {
      case 0:
        return SetPod(random_.Number(kPods));
      case 1:
        return Apply(
            compiler_.SetAdminPolicy(kAdmins, name, {{"spec", random_.AdminSpec(kAdmins.kind)}}));
      case 2:
        return Apply(
            compiler_.SetNode(name, {.labels = AsLabels(random_.NodeLabels()),
                                     .addresses = {{AddressOf(random_.Number(kPods)), 32}}}));
      case 3:
        return Apply(random_.Chance(50) ? compiler_.RemoveAdminPolicy(kAdmins, name)
                                        : compiler_.RemovePolicy(NameOf(i % kNamespaces), name));
      default:
        return Apply(
            compiler_.SetPolicy(NameOf(i % kNamespaces), name, {{"spec", random_.Spec()}}));
    }
  }

  void ExpectNoDifference() {
    const binding::Filter filter = filters_.Make(policies_, local_);
    const Kernel kernel(filter, sets_);
    for (size_t from = 0; from < kPods; ++from) {
      for (size_t to = 0; to < kPods; ++to) {
        if (from != to) ExpectNoDifference(kernel, from, to);
      }
    }
  }
  void ExpectNoDifference(const Kernel& kernel, size_t from, size_t to) {
    using Protocol = FilterRule::Protocol;
    for (const auto& [name, protocol] :
         {std::pair("tcp", Protocol::kTcp), {"udp", Protocol::kUdp}, {"sctp", Protocol::kSctp}}) {
      for (const uint16_t port : std::array<uint16_t, 5>{53, 80, 81, 8080, 9999}) {
        const Traffic traffic = {.from = {.uid = std::to_string(from), .address = AddressOf(from)},
                                 .to = {.uid = std::to_string(to), .address = AddressOf(to)},
                                 .protocol = name,
                                 .port = port};
        const Packet packet = {AddressOf(from), AddressOf(to), protocol, port};
        ASSERT_EQ(kernel.Sends(packet), policies_.OnSending(traffic).is_allowed())
            << from << " to " << to << " " << name << port;
        ASSERT_EQ(kernel.Receives(packet), policies_.OnReceiving(traffic).is_allowed())
            << from << " to " << to << " " << name << port;
      }
    }
  }

  policy::RandomPolicy random_{static_cast<unsigned>(test::FromEnvironment("KURYR_SEED", 1))};
  policy::PolicyCompiler compiler_;
  policy::PolicyVerdicts policies_;
  FilterMaker filters_;
  SetAddresses sets_;
  LocalPods local_;
};

TEST_F(FilterMakerTest, PassesWhatThePoliciesAllow) {
  const int rounds = test::FromEnvironment("KURYR_ROUNDS", 600) / 12;
  for (int i = 0; i < rounds && !HasFatalFailure(); ++i) {
    ChangeSomething();
    ExpectNoDifference();
  }
}

TEST_F(FilterMakerTest, PodsOfTheSameSetsShareTheirChains) {
  for (size_t i = 0; i < kPods; ++i)
    Apply(compiler_.SetPod(
        {.uid = std::to_string(i), .name_space = "n0", .labels = {}, .ports = {}}));
  Apply(compiler_.SetPolicy("n0", "deny", {{"spec", {{"podSelector", json::object()}}}}));

  const binding::Filter filter = filters_.Make(policies_, local_);

  EXPECT_EQ(filter.chains.size(), 1U);
  EXPECT_EQ(filter.receivers.size(), kPods);
  EXPECT_TRUE(filter.senders.empty()) << "a policy of ingress alone";
}

TEST_F(FilterMakerTest, NothingIsThereOfPodsThatNoPolicySelects) {
  EXPECT_TRUE(filters_.Make(policies_, local_).empty());
}

}  // namespace
}  // namespace kuryr::cni
