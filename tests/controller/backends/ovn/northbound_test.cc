#include "controller/backends/ovn/northbound/northbound.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "controller/backends/ovn/northbound/schema.h"
#include "tests/controller/backends/ovn/database_history.h"
#include "tests/controller/backends/ovn/northbound_fixture.h"

namespace kuryr::controller::ovn {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

WantedRow Switch(const std::string& name) {
  return {.key = {kSwitch, name}, .values = {{"name", "kuryr." + name}}};
}

WantedRow Port(const std::string& name, const std::string& on = "one") {
  return {.key = {kSwitchPort, name},
          .values = {{"name", name}},
          .maps = {{"options", {{"requested-chassis", "n1"}}}},
          .sets = {{"addresses", {"0a:00:00:00:00:01 10.1.0.2"}}},
          .places = {{{kSwitch, on}, "ports"}}};
}

class RowsTest : public NorthboundTest {
 protected:
  /// Has not begun.
  std::unique_ptr<Northbound> MakeNext(const std::string& cluster,
                                       std::chrono::milliseconds grace) {
    return std::make_unique<Northbound>(
        Northbound::Parts{.remotes = remotes_,
                          .cluster = cluster,
                          .hooks = {.may_write =
                                        [this] {
                                          ++looks_;
                                          return may_write_.load();
                                        },
                                    .told = [this](const auto&) { Tell(); }},
                          .retry_least = retry_least_,
                          .retry_most = std::max(20ms, retry_least_),
                          .grace = grace});
  }
  std::unique_ptr<Northbound> Make(const std::string& cluster = "kuryr",
                                   std::chrono::milliseconds grace = 60s) {
    auto northbound = MakeNext(cluster, grace);
    northbound->Begin(nullptr);
    return northbound;
  }
  bool AwaitSettled(const Northbound& northbound, const std::vector<RowKey>& keys) {
    return Await([&] { return northbound.StateOf(keys).settled; });
  }
  /// The number of the transaction that has written each port.
  static std::map<std::string, size_t> TransactionsOfPorts() {
    std::map<std::string, size_t> appeared;
    size_t transactions = 0;
    ReplayDatabase("/run/nb.db", [&](const DatabaseRows& tables) {
      ++transactions;
      const auto ports = tables.find("Logical_Switch_Port");
      if (ports == tables.end()) return;
      for (const auto& [uuid, row] : ports->second) appeared.emplace(row.at("name"), transactions);
    });
    return appeared;
  }
  static double SentBytes(const Northbound& northbound) {
    service::MetricsText text;
    northbound.WriteTo(text);
    const std::string name = "\nkuryr_controller_ovn_sent_bytes_total ";
    return std::stod(text.text().substr(text.text().find(name) + name.size()));
  }
  /// Changes the database as another program does, and waits until the change is undone.
  bool ChangeAndAwait(const std::vector<std::string>& change, const std::function<bool()>& undone) {
    Nbctl(change);
    return Await(undone);
  }

  std::atomic<bool> may_write_ = true;
  std::atomic<unsigned> looks_ = 0;  ///< of the thread for work
  std::chrono::milliseconds retry_least_ = 5ms;
  std::string remotes_ = remote();
  const std::vector<RowKey> both_ = {{kSwitch, "one"}, {kSwitchPort, "a"}};
};

TEST_F(RowsTest, AreWrittenInTheirPlaces) {
  const auto northbound = Make();

  northbound->Want({Port("a"), Switch("one")});

  ASSERT_TRUE(AwaitSettled(*northbound, both_));
  EXPECT_THAT(Column("Logical_Switch", "name"), ElementsAre("kuryr.one"));
  EXPECT_THAT(Nbctl({"lsp-list", "kuryr.one"}), HasSubstr("(a)"));
  EXPECT_THAT(Column("Logical_Switch_Port", "addresses"),
              ElementsAre("0a:00:00:00:00:01 10.1.0.2"));
  EXPECT_THAT(Column("Logical_Switch_Port", "options"), ElementsAre("requested-chassis=n1"));
  EXPECT_THAT(Column("Logical_Switch_Port", "external_ids"), ElementsAre("kuryr-cluster=kuryr"));
}

TEST_F(RowsTest, PortWaitsForItsSwitch) {
  const auto northbound = Make();
  northbound->Want({Port("a"), Port("b", "two"), Switch("one")});
  ASSERT_TRUE(AwaitSettled(*northbound, both_));

  EXPECT_FALSE(northbound->StateOf({{kSwitchPort, "b"}}).settled);
  northbound->Want({Switch("two")});

  ASSERT_TRUE(AwaitSettled(*northbound, {{kSwitchPort, "b"}}));
  EXPECT_THAT(Nbctl({"lsp-list", "kuryr.two"}), HasSubstr("(b)"));
}

TEST_F(RowsTest, AreWrittenAgainWhateverAnotherChanges) {
  const auto northbound = Make();
  northbound->Want({Port("a"), Switch("one")});
  ASSERT_TRUE(AwaitSettled(*northbound, both_));
  const auto is_as_wanted = [&] {
    return Column("Logical_Switch_Port", "addresses,options", "name=a") ==
               std::vector<std::string>{"0a:00:00:00:00:01 10.1.0.2", "requested-chassis=n1"} &&
           !Column("Logical_Switch", "ports", "name=kuryr.one").empty();
  };

  EXPECT_TRUE(ChangeAndAwait({"lsp-set-addresses", "a", "unknown"}, is_as_wanted));
  EXPECT_TRUE(ChangeAndAwait({"lsp-set-options", "a", "requested-chassis=n2"}, is_as_wanted));
  EXPECT_TRUE(ChangeAndAwait({"lsp-del", "a"}, is_as_wanted));
  EXPECT_TRUE(ChangeAndAwait({"ls-del", "kuryr.one"}, is_as_wanted));
}

TEST_F(RowsTest, OneThatAnotherChangesAgainAndAgainWaits) {
  retry_least_ = 600s;
  const auto northbound = Make();
  northbound->Want({Port("a"), Port("b"), Switch("one")});
  ASSERT_TRUE(AwaitSettled(*northbound, both_));

  const auto is_as_wanted = [] {
    return Column("Logical_Switch_Port", "addresses", "name=a") ==
           std::vector<std::string>{"0a:00:00:00:00:01 10.1.0.2"};
  };
  for (int change = 0; change < 11; ++change)
    ASSERT_TRUE(ChangeAndAwait({"lsp-set-addresses", "a", "unknown"}, is_as_wanted)) << change;

  EXPECT_TRUE(ChangeAndAwait({"lsp-set-addresses", "a", "unknown"}, [&] {
    return northbound->StateOf({{kSwitchPort, "a"}}).failure ==
           "row a of Logical_Switch_Port: other programs change it again and again";
  }));
  EXPECT_FALSE(is_as_wanted());
  EXPECT_TRUE(ChangeAndAwait({"lsp-set-addresses", "b", "unknown"}, [] {
    return Column("Logical_Switch_Port", "addresses", "name=b") ==
           std::vector<std::string>{"0a:00:00:00:00:01 10.1.0.2"};
  })) << "other rows are kept";
  northbound->Want({Port("a", "two"), Switch("two")});
  EXPECT_TRUE(Await(is_as_wanted)) << "what its owner changes is written at once";
}

TEST_F(RowsTest, KeysOfOthersStay) {
  const auto northbound = Make();
  northbound->Want({Port("a"), Switch("one")});
  ASSERT_TRUE(AwaitSettled(*northbound, both_));
  Nbctl({"set", "Logical_Switch_Port", "a", "options:qos_max_rate=1000"});

  WantedRow changed = Port("a");
  changed.maps["options"]["requested-chassis"] = "n3";
  northbound->Want({changed});

  ASSERT_TRUE(AwaitSettled(*northbound, both_));
  EXPECT_THAT(Column("Logical_Switch_Port", "options"),
              ElementsAre("qos_max_rate=1000 requested-chassis=n3"));
  changed.maps["options"]["requested-chassis"] = std::nullopt;
  northbound->Want({changed});
  ASSERT_TRUE(AwaitSettled(*northbound, both_));
  EXPECT_THAT(Column("Logical_Switch_Port", "options"), ElementsAre("qos_max_rate=1000"));
}

TEST_F(RowsTest, PortMovesToAnotherSwitch) {
  const auto northbound = Make();
  northbound->Want({Port("a"), Switch("one"), Switch("two")});
  ASSERT_TRUE(AwaitSettled(*northbound, both_));

  northbound->Want({Port("a", "two")});

  ASSERT_TRUE(AwaitSettled(*northbound, both_));
  EXPECT_THAT(Nbctl({"lsp-list", "kuryr.one"}), IsEmpty());
  EXPECT_THAT(Nbctl({"lsp-list", "kuryr.two"}), HasSubstr("(a)"));
}

TEST_F(RowsTest, DroppedOnesGo) {
  const auto northbound = Make();
  northbound->Want({Port("a"), Port("b"), Switch("one")});
  ASSERT_TRUE(AwaitSettled(*northbound, both_));

  northbound->Drop({{kSwitchPort, "a"}, {kSwitchPort, "never"}});

  ASSERT_TRUE(AwaitSettled(*northbound, {{kSwitchPort, "a"}, {kSwitchPort, "never"}}));
  EXPECT_THAT(Column("Logical_Switch_Port", "name"), ElementsAre("b"));
}

TEST_F(RowsTest, NextControllerGoesOn) {
  auto first = Make();
  first->Want({Port("a"), Port("orphan"), Switch("one")});
  ASSERT_TRUE(AwaitSettled(*first, {{kSwitch, "one"}, {kSwitchPort, "orphan"}}));
  first.reset();
  const auto uuids = Column("Logical_Switch_Port", "_uuid", "name=a");

  const auto next = MakeNext("kuryr", 0s);
  next->Want({Port("a"), Switch("one")});
  next->Begin(nullptr);

  ASSERT_TRUE(AwaitSettled(*next, both_));
  EXPECT_TRUE(Await([&] { return Column("Logical_Switch_Port", "name").size() == 1; }));
  EXPECT_THAT(Column("Logical_Switch_Port", "_uuid", "name=a"), uuids);
}

TEST_F(RowsTest, OfAnotherClusterAreLeft) {
  const auto one = Make("one", 0s);
  one->Want({Switch("one")});
  ASSERT_TRUE(AwaitSettled(*one, {{kSwitch, "one"}}));

  const auto two = Make("two", 0s);
  two->Want({Switch("one")});

  ASSERT_TRUE(AwaitSettled(*two, {{kSwitch, "one"}}));
  EXPECT_THAT(Column("Logical_Switch", "name"), SizeIs(2));
}

TEST_F(RowsTest, OneThatIsRefusedStopsNoOther) {
  Nbctl({"ls-add", "others", "--", "lsp-add", "others", "a"});  // Names of ports are unique.
  const auto northbound = Make();

  northbound->Want({Port("b"), Port("a"), Port("c"), Switch("one")});

  ASSERT_TRUE(AwaitSettled(*northbound, {{kSwitchPort, "b"}, {kSwitchPort, "c"}}));
  ASSERT_TRUE(Await([&] { return !northbound->StateOf({{kSwitchPort, "a"}}).failure.empty(); }));
  EXPECT_THAT(northbound->StateOf({{kSwitchPort, "a"}}).failure,
              HasSubstr("row a of Logical_Switch_Port: the northbound database refuses it: "
                        "constraint violation"));
  Nbctl({"lsp-del", "a"});
  EXPECT_TRUE(AwaitSettled(*northbound, {{kSwitchPort, "a"}}));
}

TEST_F(RowsTest, OneThatIsRefusedWaitsQuietlyWhileTheServerIsAway) {
  Nbctl({"ls-add", "others", "--", "lsp-add", "others", "a"});
  const auto northbound = Make();
  northbound->Want({Port("a"), Switch("one")});
  ASSERT_TRUE(Await([&] { return !northbound->StateOf({{kSwitchPort, "a"}}).failure.empty(); }));

  StopServer();
  looks_ = 0;
  StartServer();
  northbound->Want({Switch("two")});
  ASSERT_TRUE(AwaitSettled(*northbound, {{kSwitch, "two"}}));

  EXPECT_LT(looks_, 200U);
}

TEST_F(RowsTest, ServerThatIsAwayGetsThemLater) {
  StopServer();
  const auto northbound = Make();
  northbound->Want({Port("a"), Switch("one")});
  StartServer();
  ASSERT_TRUE(AwaitSettled(*northbound, both_));

  StopServer();
  northbound->Want({Port("b")});
  northbound->Drop({{kSwitchPort, "a"}});
  EXPECT_FALSE(northbound->StateOf({{kSwitchPort, "a"}}).settled);
  StartServer();

  ASSERT_TRUE(AwaitSettled(*northbound, {{kSwitchPort, "a"}, {kSwitchPort, "b"}}));
  EXPECT_THAT(Column("Logical_Switch_Port", "name"), ElementsAre("b"));
}

TEST_F(RowsTest, DatabaseThatWasWipedIsFilledAgain) {
  const auto northbound = Make();
  northbound->Want({Port("a"), Switch("one")});
  ASSERT_TRUE(AwaitSettled(*northbound, both_));

  StopServer();
  test::RunProgram({.argv = {"rm", "/run/nb.db"}});
  test::RunProgram(
      {.argv = {"ovsdb-tool", "create", "/run/nb.db", "/usr/share/ovn/ovn-nb.ovsschema"}});
  StartServer();

  EXPECT_TRUE(Await([] { return !Column("Logical_Switch_Port", "name").empty(); }));
}

TEST_F(RowsTest, LeaderOfAClusterMayDie) {
  Cluster cluster;
  remotes_ = Cluster::remotes();
  const auto northbound = Make();
  northbound->Want({Port("a"), Switch("one")});
  ASSERT_TRUE(AwaitSettled(*northbound, both_));

  cluster.Kill(0);
  northbound->Want({Port("b")});

  ASSERT_TRUE(AwaitSettled(*northbound, {{kSwitchPort, "a"}, {kSwitchPort, "b"}}));
  cluster.Start(0);
  cluster.Kill(1);
  northbound->Drop({{kSwitchPort, "a"}});
  EXPECT_TRUE(AwaitSettled(*northbound, {{kSwitchPort, "a"}, {kSwitchPort, "b"}}));
  EXPECT_EQ(test::RunProgram({.argv = {"ovn-nbctl", "--db=" + remotes_, "--timeout=10", "get",
                                       "Logical_Switch_Port", "b", "name"}})
                .out,
            "b\n");
}

TEST_F(RowsTest, NothingIsWrittenWhileItMayNot) {
  may_write_ = false;
  const auto northbound = Make();
  northbound->Want({Switch("one")});
  EXPECT_THAT(Column("Logical_Switch", "name"), IsEmpty());

  may_write_ = true;

  EXPECT_TRUE(AwaitSettled(*northbound, {{kSwitch, "one"}}));
}

TEST_F(RowsTest, TwoOfOneKindBecomeOne) {
  const auto one = Make();
  const auto two = Make();  // A former leader that was paused.
  one->Want({Switch("one"), Port("a")});
  two->Want({Switch("one"), Port("a")});
  Nbctl({"create", "Logical_Switch", "name=twin", "external_ids:kuryr-cluster=kuryr",
         "external_ids:kuryr-row=one"});

  EXPECT_TRUE(Await(
      [&] { return Column("Logical_Switch", "name").size() == 1 && one->StateOf(both_).settled; }));
}

TEST_F(RowsTest, ManyTakeFewTransactions) {
  const auto northbound = Make();
  std::vector<WantedRow> rows = {Switch("one")};
  std::vector<RowKey> keys;
  for (int i = 0; i < 2000; ++i) {
    rows.push_back(Port("port" + std::to_string(i)));
    keys.push_back(rows.back().key);
  }
  northbound->Want(std::move(rows));

  ASSERT_TRUE(AwaitSettled(*northbound, keys));
  service::MetricsText text;
  northbound->WriteTo(text);
  EXPECT_THAT(text.text(), HasSubstr("kuryr_controller_ovn_rows 2001\n"));
  EXPECT_THAT(text.text(), HasSubstr("kuryr_controller_ovn_transactions_total 5\n"));
}

TEST_F(RowsTest, NewOnesThatSomebodyWaitsForGoBeforeOthers) {
  may_write_ = false;
  const auto northbound = Make();
  std::vector<WantedRow> rows = {Switch("one")};
  for (int i = 0; i < 2000; ++i) rows.push_back(Port("port" + std::to_string(i)));
  const RowKey last = rows.back().key;
  northbound->Want(std::move(rows));
  northbound->WantFirst({Port("urgent"), Port("port1998")}, {});
  may_write_ = true;
  ASSERT_TRUE(AwaitSettled(*northbound, {last}));

  const auto appeared = TransactionsOfPorts();
  EXPECT_EQ(appeared.at("urgent"), appeared.at("port0"));
  EXPECT_EQ(appeared.at("port1998"), appeared.at("port0"));
  EXPECT_GT(appeared.at("port1997"), appeared.at("port0"));
}

TEST_F(RowsTest, LongOnesTakeMoreTransactions) {
  const auto northbound = Make();
  std::vector<WantedRow> rows = {Switch("one")};
  std::vector<RowKey> keys;
  for (int i = 0; i < 30; ++i) {
    rows.push_back(Switch("long" + std::to_string(i)));
    rows.back().values["name"] = std::to_string(i) + std::string(1 << 20, 'x');
    keys.push_back(rows.back().key);
  }
  northbound->Want(std::move(rows));

  ASSERT_TRUE(AwaitSettled(*northbound, keys));
  service::MetricsText text;
  northbound->WriteTo(text);
  EXPECT_THAT(text.text(), HasSubstr("kuryr_controller_ovn_transactions_total 8\n"));
}

TEST_F(RowsTest, NextControllerReadsADatabaseOfMegabytes) {
  std::vector<WantedRow> rows = {Switch("one")};
  std::vector<RowKey> keys;
  for (int i = 0; i < 300; ++i) {
    rows.push_back(Port("port" + std::to_string(i)));
    rows.back().maps["external_ids"]["filler"] = std::string(10'000, 'x');
    keys.push_back(rows.back().key);
  }
  auto northbound = Make();
  northbound->Want(rows);
  ASSERT_TRUE(AwaitSettled(*northbound, keys));
  EXPECT_GT(SentBytes(*northbound), 3'000'000);

  northbound = Make();
  northbound->Want(rows);
  ASSERT_TRUE(AwaitSettled(*northbound, keys));
  service::MetricsText text;
  northbound->WriteTo(text);
  EXPECT_THAT(text.text(), HasSubstr("kuryr_controller_ovn_rows 301\n"));
  EXPECT_THAT(text.text(), HasSubstr("kuryr_controller_ovn_transactions_total 0\n"));
  EXPECT_EQ(SentBytes(*northbound), 0);
}

TEST_F(RowsTest, ThoseThatBelongTogetherTakeOneTransaction) {
  const auto northbound = Make();
  northbound->Want({Switch("one")});
  ASSERT_TRUE(AwaitSettled(*northbound, {Switch("one").key}));
  std::vector<WantedRow> rows;
  std::vector<RowKey> keys;
  for (int i = 0; i < 2000; ++i) {
    rows.push_back(Port("port" + std::to_string(i)));
    keys.push_back(rows.back().key);
  }
  northbound->WantTogether(std::move(rows), {});

  ASSERT_TRUE(AwaitSettled(*northbound, keys));
  service::MetricsText text;
  northbound->WriteTo(text);
  EXPECT_THAT(text.text(), HasSubstr("kuryr_controller_ovn_transactions_total 2\n"));
}

TEST_F(RowsTest, NewOnesThatSomebodyWaitsForGoBeforeThoseThatBelongTogether) {
  may_write_ = false;
  const auto northbound = Make();
  std::vector<WantedRow> rows = {Switch("one")};
  for (int i = 0; i < 2000; ++i) rows.push_back(Port("port" + std::to_string(i)));
  const RowKey last = rows.back().key;
  northbound->WantTogether(std::move(rows), {});
  northbound->WantFirst({Port("urgent"), Port("port1998")}, {});
  may_write_ = true;
  ASSERT_TRUE(AwaitSettled(*northbound, {last}));

  const auto appeared = TransactionsOfPorts();
  EXPECT_EQ(appeared.at("urgent"), appeared.at("port1998"));
  EXPECT_EQ(appeared.at("urgent") + 1, appeared.at("port0"));
  EXPECT_EQ(appeared.at("port1999"), appeared.at("port0"));
}

}  // namespace
}  // namespace kuryr::controller::ovn
