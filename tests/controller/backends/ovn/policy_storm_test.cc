#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "tests/controller/backends/ovn/database_history.h"
#include "tests/controller/backends/ovn/northbound_fixture.h"
#include "tests/controller/backends/ovn/policed_cluster.h"
#include "tests/support/environment.h"

namespace kuryr::controller::ovn {
namespace {

using nlohmann::json;

/// The rows of policies after a transaction, without UUIDs.
class PolicyTables {
 public:
  explicit PolicyTables(const DatabaseRows& rows) : rows_(rows) {
    for (const auto& [uuid, group] : Table("Port_Group")) {
      const bool isolates = IsDropOf(group);
      for (const std::string& port : ReferencesIn(group, "ports")) {
        Port& known = ports_[rows.at("Logical_Switch_Port").at(port).at("name")];
        known.sets.insert(NameOf(group));
        known.is_isolated = known.is_isolated || isolates;
      }
    }
  }

  struct Port {
    std::set<policy::PodSet> sets;
    bool is_isolated = false;  ///< an ACL of one of its port groups drops
  };
  [[nodiscard]] const std::map<std::string, Port>& ports() const { return ports_; }
  /// All that the rows say, for a comparison with another database.
  [[nodiscard]] json ToJson() const {
    json all;
    for (const auto& [name, port] : ports_) all["ports"][name] = port.sets;
    for (const auto& [uuid, group] : Table("Port_Group")) {
      json& acls = all["groups"][NameOf(group)][group.at("name").get<std::string>()];
      for (const std::string& acl : ReferencesIn(group, "acls")) {
        const json& row = rows_.at("ACL").at(acl);
        acls[NameOf(row)] = {row.at("match"), row.at("action"), row.at("priority"),
                             row.at("direction")};
      }
    }
    return all;
  }

 private:
  [[nodiscard]] const std::map<std::string, json>& Table(const char* name) const {
    static const std::map<std::string, json> kNone;
    const auto table = rows_.find(name);
    return table == rows_.end() ? kNone : table->second;
  }
  static std::string NameOf(const json& row) {
    for (const json& pair : row.at("external_ids").at(1)) {
      if (pair.at(0) == "kuryr-row") return pair.at(1);
    }
    return "";
  }
  [[nodiscard]] bool IsDropOf(const json& group) const {
    for (const std::string& acl : ReferencesIn(group, "acls")) {
      if (rows_.at("ACL").at(acl).at("action") == "drop") return true;
    }
    return false;
  }

  const DatabaseRows& rows_;
  std::map<std::string, Port> ports_;
};

class PolicyStormTest : public NorthboundTest {
 protected:
  void KillServer() {
    server().Signal(SIGKILL);
    server().Wait();
    StartServer();
  }
  void ChangeSomething(PolicedCluster& cluster) {
    const size_t name_space = Below(size_.namespaces);
    const size_t kind = Below(10);
    if (kind < 7) {
      cluster.Relabel(name_space, Below(size_.pods_of_each), Below(policy::BigCluster::kApps));
    } else if (kind < 9) {
      cluster.Allow(name_space, Below(policy::BigCluster::kApps), Below(policy::BigCluster::kApps));
    } else {
      cluster.MoveTo(name_space, Below(policy::BigCluster::kTeams));
    }
  }
  size_t Below(size_t most) { return random_() % most; }

  /// After each transaction, each port is isolated, and in the sets of a moment of its pod. These
  /// moments go on alone.
  static void ExpectNeverOpen(const PolicedCluster& cluster) {
    std::map<std::string, size_t> moments;
    size_t transactions = 0;
    ReplayDatabase("/run/nb.db", [&](const DatabaseRows& rows) {
      ++transactions;
      if (HasFatalFailure()) return;
      const PolicyTables tables(rows);
      for (const auto& [name, port] : tables.ports()) {
        const auto& history = cluster.history().at(name);
        size_t& moment = moments[name];
        const size_t before = moment;
        while (moment < history.size() && history[moment] != port.sets) ++moment;
        ASSERT_LT(moment, history.size())
            << name << " has unknown sets in transaction " << transactions << ": "
            << json(port.sets) << " after moment " << before << " of " << json(history);
        ASSERT_TRUE(port.is_isolated) << name << " is open";
      }
    });
    EXPECT_EQ(moments.size(), cluster.vifs().size());
    RecordProperty("transactions", static_cast<int>(transactions));
  }
  /// What the database says in the end.
  static json Dump() {
    json dump;
    ReplayDatabase("/run/nb.db",
                   [&](const DatabaseRows& rows) { dump = PolicyTables(rows).ToJson(); });
    return dump;
  }

  const policy::BigCluster size_{
      .namespaces = static_cast<size_t>(test::FromEnvironment("KURYR_POLICED_NAMESPACES", 4)),
      .pods_of_each = static_cast<size_t>(test::FromEnvironment("KURYR_POLICED_PODS", 30))};
  std::mt19937 random_{static_cast<unsigned>(test::FromEnvironment("KURYR_SEED", 1))};
};

/// KURYR_POLICED_NAMESPACES=10 KURYR_POLICED_PODS=100 KURYR_POLICY_CHANGES=500 in the environment
/// makes it thorough: 1,000 pods.
TEST_F(PolicyStormTest, NoPodIsOpenWhateverIsKilledAndAllEndsAsFromNothing) {
  const int changes = test::FromEnvironment("KURYR_POLICY_CHANGES", 300);
  PolicedCluster cluster(PolicedObjects(size_), remote());
  cluster.ReplaceController();
  cluster.Plan();

  for (int change = 1; change <= changes; ++change) {
    ChangeSomething(cluster);
    if (change % 7 == 0) cluster.SettleChanged();
    if (change % 30 == 0) cluster.ReplaceController();
    if (change % 70 == 0) KillServer();
  }
  cluster.SettleAll();
  ASSERT_TRUE(Await([&] { return cluster.Figure("kuryr_controller_ovn_rows_pending") == 0; }));
  ExpectNeverOpen(cluster);
  const json ended = Dump();

  ReplaceDatabase();
  PolicedCluster fresh(cluster.objects(), remote());
  fresh.Adopt(cluster.vifs());
  ASSERT_TRUE(Await([&] { return fresh.Figure("kuryr_controller_ovn_rows_pending") == 0; }));
  EXPECT_EQ(ended, Dump());
}

}  // namespace
}  // namespace kuryr::controller::ovn
