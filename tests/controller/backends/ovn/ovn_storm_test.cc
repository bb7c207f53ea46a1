#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>

#include "controller/backends/ovn/ovn_backend.h"
#include "tests/controller/backends/ovn/northbound_fixture.h"
#include "tests/controller/backends/ovn/ovn_text.h"
#include "tests/controller/backends/pools/backend_fixture.h"
#include "tests/support/environment.h"

namespace kuryr::controller::ovn {
namespace {

using Vifs = std::vector<vif::PodVif>;

/// Pods and nodes of a cluster, as its controllers know them, one controller after the other.
class OvnStormTest : public NorthboundTest {
 protected:
  struct Planned {
    PlanRequest request;
    Vifs vifs;  ///< empty: no controller has written them yet
  };

  void SetUp() override {
    NorthboundTest::SetUp();
    if (IsSkipped()) return;
    cluster_.emplace();
    nbctl_db_ = Cluster::remotes();
  }

  /// The controller is killed, and the next one reads what is written.
  void ReplaceController() {
    backend_.reset();
    backend_ = std::make_unique<OvnBackend>(
        ReadOptionsOf(
            "[node_network]\nenabled = true\n[ovn]\nnb_connection = " + Cluster::remotes() +
            "\n[pool:pods]\ncidr = 10.0.0.0/8\nnode_prefix = 20\ndefault = true\nrest = 0\n"),
        BackendHooks{.wake = [this](const Owner&) { Tell(); },
                     .may_write = [] { return true; },
                     .is_scope = {}},
        std::chrono::milliseconds(0));
    for (const auto& [id, owner] : owners_) {
      if (!owner.vifs.empty()) backend_->Adopt(owner.request.owner, owner.vifs);
    }
    backend_->EndAdoption();
    // What was being released is not written any more.
    releasing_.clear();
  }
  /// Kills the leading server of the cluster while a row is under way, and starts the one before
  /// again.
  void KillLeader() {
    if (killed_) cluster_->Start(*killed_);
    ASSERT_TRUE(Await([&] { return IsSettled(); })) << State();
    AddPod();
    ASSERT_TRUE(Await([&] { return (killed_ = cluster_->FindLeader()).has_value(); }));
    cluster_->Kill(*killed_);
  }

  void Ask(Planned& owner) {
    try {
      if (const auto vifs = backend_->Reserve(owner.request)) owner.vifs = *vifs;
    } catch (const PlanError& e) {
      EXPECT_EQ(e.kind(), PlanError::Kind::kRetry) << e.what();
      refusal_ = e.what();
    }
  }
  void AddNode(const std::string& name) {
    Planned& node = owners_["uid-" + name];
    node.request = {.owner = {.id = "uid-" + name, .name = name, .node = name},
                    .interfaces = {{.ifname = "eth0", .is_default = true}}};
    EXPECT_TRUE(Await([&] {
      Ask(node);
      return !node.vifs.empty();
    }));
  }
  void AddPod() {
    const std::string node = "n" + std::to_string(random_() % 3);
    const std::string name = "pod" + std::to_string(++pods_);
    Planned& pod = owners_["uid-" + name];
    pod.request = pools::RequestOf(pools::Pod(name, "team", node));
    for (const IpNetwork& address :
         vif::AddressesOf(vif::Common(owners_.at("uid-" + node).vifs.at(0).vif)))
      pod.request.node_networks.push_back(address.Masked());
    Ask(pod);
  }
  void RemovePod() {
    const auto pod = std::next(owners_.begin(), static_cast<long>(random_() % owners_.size()));
    if (pod->second.request.owner.is_node()) return;
    if (!backend_->Release(pod->first)) releasing_.insert(pod->first);
    owners_.erase(pod);
  }
  /// Every owner has its rows, and nobody else has any.
  bool IsSettled() {
    for (auto& [id, owner] : owners_) {
      if (owner.vifs.empty() || !backend_->Await(owner.request.owner, owner.vifs)) Ask(owner);
    }
    std::erase_if(releasing_, [this](const std::string& id) { return backend_->Release(id); });
    return releasing_.empty() &&
           std::all_of(owners_.begin(), owners_.end(), [this](const auto& entry) {
             return !entry.second.vifs.empty() &&
                    backend_->Await(entry.second.request.owner, entry.second.vifs);
           });
  }

  /// What a reader needs to know when rows do not settle.
  [[nodiscard]] std::string State() const {
    const auto leader = cluster_->FindLeader();
    return "leader " + (leader ? std::to_string(*leader) : "none") + ", killed " +
           (killed_ ? std::to_string(*killed_) : "none") + ", releasing " +
           std::to_string(releasing_.size()) + ", last refusal: " + refusal_;
  }

  std::mt19937 random_{7};
  std::string refusal_;
  unsigned pods_ = 0;
  std::map<std::string, Planned> owners_;  ///< by id
  std::set<std::string> releasing_;
  std::optional<Cluster> cluster_;
  std::optional<size_t> killed_;  ///< the server of the cluster that does not run
  std::unique_ptr<OvnBackend> backend_;
};

/// KURYR_OVN_CHANGES=10000 in the environment makes it thorough.
TEST_F(OvnStormTest, RowsArePodsWhateverIsKilled) {
  const int changes = test::FromEnvironment("KURYR_OVN_CHANGES", 600);
  ReplaceController();
  for (const char* name : {"n0", "n1", "n2"}) AddNode(name);

  for (int change = 1; change <= changes; ++change) {
    random_() % 5 < 3 ? AddPod() : RemovePod();
    if (change % 130 == 0) ReplaceController();
    if (change % 280 == 0) KillLeader();
  }

  ASSERT_TRUE(Await([&] { return IsSettled(); })) << State();
  std::vector<std::string> ids;
  std::set<std::string> addresses;
  for (const auto& [id, owner] : owners_) {
    ids.push_back(vif::Common(owner.vifs.at(0).vif).id.value());
    EXPECT_TRUE(addresses.insert(pools::AddressesOf(owner.vifs[0]).at(0)).second) << id;
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_TRUE(Await([&] { return Column("Logical_Switch_Port", "name", "type=\"\"") == ids; }));
  EXPECT_THAT(Column("Logical_Switch", "name"), ::testing::SizeIs(3));
  EXPECT_THAT(Column("Logical_Router_Port", "name"), ::testing::SizeIs(3));
}

}  // namespace
}  // namespace kuryr::controller::ovn
