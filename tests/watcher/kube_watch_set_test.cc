// Watches a set of pods through all that a real API server and its etcd may do to a watch.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "base/thread_annotations.h"
#include "tests/support/kube_api_test.h"
#include "watcher/api_client.h"
#include "watcher/api_error.h"
#include "watcher/watcher.h"

namespace kuryr::watcher {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr const char* kAllPods = "/api/v1/namespaces/default/pods";
constexpr const char* kConfigMaps = "/api/v1/namespaces/default/configmaps";

/// In the environment, KURYR_KUBE_PODS=1000 KURYR_KUBE_RESTARTS=20 make the test thorough.
int FromEnvironment(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

/// The state that the events describe.
class Replica : public EventHandler {
 public:
  void Handle(const WatchEvent& event) override {
    const MutexLock lock(mutex_);
    if (event.type == EventType::kDeleted) {
      if (present_.erase(event.uid) != 1) ++contradictions_;
      deleted_.insert(event.uid);
    } else {
      const bool known = present_.contains(event.uid);
      if (known != (event.type == EventType::kModified)) ++contradictions_;
      present_[event.uid] = event.resource_version;
    }
    changed_.notify_all();
  }
  bool WaitFor(const std::map<std::string, std::string>& present) {
    const MutexLock lock(mutex_);
    return changed_.wait_for(mutex_, seconds(90),
                             [&]() REQUIRES(mutex_) { return present_ == present; });
  }
  std::map<std::string, std::string> present() {
    const MutexLock lock(mutex_);
    return present_;
  }
  std::set<std::string> deleted() {
    const MutexLock lock(mutex_);
    return deleted_;
  }
  /// Counts ADDED of known pods, and MODIFIED or DELETED of unknown ones.
  int contradictions() {
    const MutexLock lock(mutex_);
    return contradictions_;
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, std::string> present_ GUARDED_BY(mutex_);  ///< uid → resourceVersion
  std::set<std::string> deleted_ GUARDED_BY(mutex_);
  int contradictions_ GUARDED_BY(mutex_) = 0;
};

/// One server for all tests; no test finds objects of another.
class KubeWatchSetTest : public test::KubeApiTest {
 protected:
  void SetUp() override {
    KubeApiTest::SetUp();
    if (HasNoServer()) return;
    config_ = {.api_root = server_->url(),
               .ca = {.file = server_->ca_file()},
               .token = {.file = server_->token_file()},
               .fallback_spread = seconds(0)};
    client_ = std::make_unique<ApiClient>(config_);
    // No kubelet is there to end pods of a node.
    client_->Delete(kAllPods, {{"gracePeriodSeconds", 0}});
    client_->Delete(kConfigMaps);
  }

  void Create(int number) {
    const json pod =
        client_->Post(kAllPods, {{"apiVersion", "v1"},
                                 {"kind", "Pod"},
                                 {"metadata", {{"name", "p" + std::to_string(number)}}},
                                 {"spec", {{"containers", {{{"name", "c"}, {"image", "none"}}}}}}});
    uids_[number] = pod.at("metadata").at("uid");
  }
  void Patch(int number, const std::string& value) {
    client_->Patch(Path(number), PatchType::kMerge,
                   {{"metadata", {{"annotations", {{"openstack.org/kuryr-vif", value}}}}}});
  }
  void Delete(int number) {
    client_->Delete(Path(number));
    deleted_.insert(uids_.at(number));
    uids_.erase(number);
  }
  /// All pods: uid → resourceVersion.
  std::map<std::string, std::string> List() {
    std::map<std::string, std::string> listed;
    const json list = client_->Get(kAllPods);
    for (const json& pod : list.at("items"))
      listed[pod.at("metadata").at("uid")] = pod.at("metadata").at("resourceVersion");
    return listed;
  }
  static std::string Path(int number) {
    return std::string(kAllPods) + "/p" + std::to_string(number);
  }

  ApiConfig config_;
  std::unique_ptr<ApiClient> client_;
  std::map<int, std::string> uids_;  ///< UIDs of the present pods
  std::set<std::string> deleted_;
  Replica replica_;
};

TEST_F(KubeWatchSetTest, NothingIsLostWhileTheServerIsKilledAndItsPastCompacted) {
  const int pods = FromEnvironment("KURYR_KUBE_PODS", 200);
  const int restarts = FromEnvironment("KURYR_KUBE_RESTARTS", 2);
  std::minstd_rand random(1);
  Watcher watcher(config_, replica_);
  watcher.Add(kAllPods, WatchMode::kSet);
  watcher.Start();
  const auto start = std::chrono::steady_clock::now();

  int next = 0;
  for (int round = 0; round <= restarts; ++round) {
    for (; next < pods * (round + 1) / (restarts + 1); ++next) {
      Create(next);
      Patch(next, "first");
      if (next % 3 == 0) Delete(next);
      if (next % 4 == 0 && next > 0 && uids_.contains(next - 1)) Patch(next - 1, "second");
    }
    if (round == restarts) break;
    if (round % 2 == 0) server_->Compact();
    server_->KillApiServer();
    server_->StartApiServer();
    // These deletions may come before the watcher is back.
    for (int i = 0; i < 5; ++i) {
      const int victim = static_cast<int>(random() % static_cast<unsigned>(next));
      if (uids_.contains(victim)) Delete(victim);
    }
    if (round % 2 == 1) server_->Compact();
  }

  const auto listed = List();
  EXPECT_TRUE(replica_.WaitFor(listed));
  EXPECT_EQ(replica_.present(), listed);
  const WatchMetrics metrics = watcher.Metrics().at(kAllPods);
  watcher.Stop();
  EXPECT_EQ(replica_.contradictions(), 0);
  // Pods that came and went between two lists are not told.
  const std::set<std::string> heard = replica_.deleted();
  for (const std::string& uid : heard) EXPECT_TRUE(deleted_.contains(uid));
  const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LE(static_cast<double>(metrics.connects), 2 * took + 1);
  RecordProperty("connects", static_cast<int>(metrics.connects));
  RecordProperty("lists", static_cast<int>(metrics.lists));
  std::cout << pods << " pods, " << restarts << " restarts in " << took
            << " s: " << metrics.connects << " connects, " << metrics.lists << " lists, "
            << heard.size() << " of " << deleted_.size() << " deletions heard\n";
}

TEST_F(KubeWatchSetTest, AServerThatComesBackAfterOtherWritesIsWatchedOn) {
  Watcher watcher(config_, replica_);
  watcher.Add(kAllPods, WatchMode::kSet);
  watcher.Start();
  Create(1);
  ASSERT_TRUE(replica_.WaitFor(List()));

  // The watch does not tell these objects, and the new server's cache begins after them.
  for (int i = 0; i < 5; ++i) {
    client_->Post(kConfigMaps, {{"apiVersion", "v1"},
                                {"kind", "ConfigMap"},
                                {"metadata", {{"name", "c" + std::to_string(i)}}}});
  }
  server_->KillApiServer();
  server_->StartApiServer();
  Create(2);
  Patch(1, "changed");

  const auto listed = List();
  EXPECT_TRUE(replica_.WaitFor(listed));
  EXPECT_EQ(replica_.present(), listed);
  EXPECT_EQ(replica_.contradictions(), 0);
  const auto reconnects = watcher.Metrics().at(kAllPods).reconnects;
  EXPECT_EQ(reconnects[static_cast<size_t>(ReconnectReason::kExpired)], 1U);
}

/// Catches up with all pods, where it lists, and with a selector, where it asks the watch first.
class KubeCatchUpTest : public KubeWatchSetTest,
                        public ::testing::WithParamInterface<const char*> {};

TEST_P(KubeCatchUpTest, WhatWasWrittenBeforeACallIsHeardOfWhenItIsDone) {
  const std::string path = std::string(kAllPods) + GetParam();
  constexpr int kMany = 600;
  for (int number = 0; number < kMany; ++number) Create(number);
  Watcher watcher(config_, replica_);
  watcher.Add(path, WatchMode::kSet);
  watcher.Start();
  ASSERT_TRUE(replica_.WaitFor(List()));

  for (int round = 0; round < 6; ++round) {
    const uint64_t lists = watcher.Metrics().at(path).lists;
    // A change of another kind gives the watch nothing to tell.
    if (round % 3 == 0) {
      Patch(round, "changed");
    } else {
      client_->Post(kConfigMaps, {{"apiVersion", "v1"},
                                  {"kind", "ConfigMap"},
                                  {"metadata", {{"name", "c" + std::to_string(round)}}}});
    }
    const auto present = List();
    const auto start = std::chrono::steady_clock::now();
    const auto heard = std::make_shared<std::promise<std::map<std::string, std::string>>>();
    watcher.CatchUp([&, heard] { heard->set_value(replica_.present()); });
    if (round % 3 == 1) Patch(round, "changed while catching up");

    const auto known = heard->get_future().get();
    for (const auto& [uid, version] : present) {
      ASSERT_TRUE(known.contains(uid));
      EXPECT_GE(std::stoull(known.at(uid)), std::stoull(version));
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::cout << "round " << round << ": " << took.count() << " s, "
              << watcher.Metrics().at(path).lists - lists << " whole lists\n";
  }
  EXPECT_EQ(replica_.contradictions(), 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, KubeCatchUpTest, ::testing::Values("", "?labelSelector=%21other"));

TEST_F(KubeWatchSetTest, SelectorsPickByNodeAndByLabel) {
  Replica labelled;
  Watcher on_node(config_, replica_);
  on_node.Add("/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-a", WatchMode::kSet);
  on_node.Start();
  Watcher by_label(config_, labelled);
  by_label.Add("/api/v1/pods?labelSelector=app%3Dweb", WatchMode::kSet);
  by_label.Start();
  std::map<std::string, std::string> versions[2];  // of pods on node-a, of pods with the label

  for (const char* node : {"node-a", "node-b"}) {
    const std::string name = std::string("on-") + node;
    const json made = client_->Post(
        kAllPods,
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata",
          {{"name", name}, {"labels", {{"app", node == std::string("node-b") ? "web" : "db"}}}}},
         {"spec", {{"nodeName", node}, {"containers", {{{"name", "c"}, {"image", "none"}}}}}}});
    versions[node == std::string("node-b") ? 1 : 0][made.at("metadata").at("uid")] =
        made.at("metadata").at("resourceVersion");
  }
  EXPECT_TRUE(replica_.WaitFor(versions[0]));
  EXPECT_TRUE(labelled.WaitFor(versions[1]));

  // A watch with a selector tells DELETED of a pod that leaves the selector.
  client_->Patch(std::string(kAllPods) + "/on-node-b", PatchType::kMerge,
                 {{"metadata", {{"labels", {{"app", "db"}}}}}});
  EXPECT_TRUE(labelled.WaitFor({}));
}

}  // namespace
}  // namespace kuryr::watcher
