#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>

#include "controller/backends/ovn/northbound/northbound.h"
#include "controller/backends/ovn/northbound/schema.h"
#include "tests/controller/backends/ovn/northbound_fixture.h"
#include "tests/support/environment.h"

namespace kuryr::controller::ovn {
namespace {

using Milliseconds = std::chrono::milliseconds;

/// Rows of a cluster of three servers, whose leaders go.
class LeadersTest : public NorthboundTest {
 protected:
  void SetUp() override {
    NorthboundTest::SetUp();
    if (IsSkipped()) return;
    cluster_.emplace();
    northbound_ = std::make_unique<Northbound>(Northbound::Parts{
        .remotes = Cluster::remotes(),
        .cluster = "kuryr",
        .hooks = {.may_write = [] { return true; }, .told = [this](const auto&) { Tell(); }}});
    northbound_->Begin(nullptr);
    ASSERT_TRUE(AwaitRows({Write()}));
  }

  /// Has a new row written. Returns its key.
  RowKey Write() {
    const RowKey key = {kSwitch, "switch" + std::to_string(++rows_)};
    northbound_->Want({{.key = key, .values = {{"name", "kuryr." + key.name}}}});
    return key;
  }
  bool AwaitRows(const std::vector<RowKey>& keys) {
    return Await([&] { return northbound_->StateOf(keys).settled; });
  }
  size_t AwaitLeader() {
    std::optional<size_t> leader;
    EXPECT_TRUE(Await([&] { return (leader = cluster_->FindLeader()).has_value(); }));
    return leader.value_or(0);
  }
  /// Has the leader go while a row is under way. Returns how long this row and a later one took.
  Milliseconds TimeWithout(size_t leader, const std::function<void(size_t)>& end) {
    const RowKey under_way = Write();
    const auto start = std::chrono::steady_clock::now();
    end(leader);
    EXPECT_TRUE(AwaitRows({under_way, Write()}));
    return std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - start);
  }

  int rows_ = 0;
  std::optional<Cluster> cluster_;
  std::unique_ptr<Northbound> northbound_;
};

/// KURYR_OVN_LEADERS=20 in the environment makes it thorough.
TEST_F(LeadersTest, RowsAreWrittenAfterEachDeathOfALeader) {
  std::vector<Milliseconds> times(
      static_cast<size_t>(test::FromEnvironment("KURYR_OVN_LEADERS", 3)));

  for (Milliseconds& time : times) {
    const size_t leader = AwaitLeader();
    time = TimeWithout(leader, [&](size_t server) { cluster_->Kill(server); });
    cluster_->Start(leader);
    Cluster::AwaitMember(leader);
  }

  std::sort(times.begin(), times.end());
  std::cout << times.size() << " leaders died. Rows were written after "
            << times[times.size() / 2].count() << " ms (median), " << times.back().count()
            << " ms (longest).\n";
}

TEST_F(LeadersTest, RowsAreWrittenWhenALeaderHangs) {
  const size_t leader = AwaitLeader();

  const Milliseconds time =
      TimeWithout(leader, [&](size_t server) { cluster_->Signal(server, SIGSTOP); });

  std::cout << "Rows were written " << time.count() << " ms after a leader stopped.\n";
}

}  // namespace
}  // namespace kuryr::controller::ovn
