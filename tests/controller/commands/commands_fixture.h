#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "controller/leading.h"
#include "tests/controller/cluster.h"
#include "tests/controller/commands/run_command.h"

namespace kuryr::test {

inline fake::Options WithLeases(std::vector<fake::Resource> resources) {
  resources.push_back(
      {.group = "coordination.k8s.io", .version = "v1", .plural = "leases", .kind = "Lease"});
  return {.custom_resources = std::move(resources)};
}

/// Runs kuryr-controller's commands as programs, on a cluster that a Leading has planned.
class CommandsTest : public ::testing::Test {
 protected:
  explicit CommandsTest(const fake::Options& options = WithLeases({fake::KuryrPorts()}))
      : cluster_(options) {}

  void SetUp() override {
    api().Create({{"kind", "Node"}, {"apiVersion", "v1"}, {"metadata", {{"name", "node1"}}}});
    Configure("");
  }
  void TearDown() override { std::filesystem::remove(conf_); }

  fake::FakeApiServer& api() { return cluster_.api(); }
  void Configure(const std::string& more,
                 controller::SinkKind sink = controller::SinkKind::kPodState) {
    std::ofstream(conf_) << "[kubernetes]\napi_root = " << api().url()
                         << "\nvif_sink = " << controller::NameOf(sink)
                         << "\n[pool:pods]\ncidr = 10.8.0.0/29\nranges = 10.8.0.2-10.8.0.3\n"
                            "namespaces = *\nrest = 0\n"
                         << more;
    config_ = controller::LoadConfig({conf_}, [](const char*) { return nullptr; });
  }
  void Lead(controller::SinkKind sink = controller::SinkKind::kPodState) {
    informer_ = std::make_unique<controller::Informer>(config_);
    leading_ = std::make_unique<controller::Leading>(
        controller::Leading::Parts{config_, reporter_, metrics_, *informer_}, sink,
        [] { return true; });
  }
  void StopLeading() {
    leading_.reset();
    informer_.reset();
  }
  /// Makes planned pods; no controller leads afterwards.
  void Plan(const std::vector<std::string>& names,
            controller::SinkKind sink = controller::SinkKind::kPodState) {
    Lead(sink);
    for (const std::string& name : names) {
      cluster_.CreatePod(name);
      if (sink == controller::SinkKind::kPodState) {
        (void)cluster_.WaitForPlan(name);
      } else {
        (void)cluster_.WaitFor("KuryrPort", name, [](const nlohmann::json& port) {
          return port.is_object() && !VifsOn(port).empty();
        });
      }
    }
    StopLeading();
  }
  /// Makes planned pods, and one for which no address is left; no controller leads afterwards.
  void FillPool(const std::vector<std::string>& names, const std::string& waiting) {
    Lead();
    for (const std::string& name : names) {
      cluster_.CreatePod(name);
      (void)cluster_.WaitForPlan(name);
    }
    cluster_.CreatePod(waiting);
    EXPECT_THAT(cluster_.WaitForEvent(waiting, "KuryrNoFreeAddress"), ::testing::HasSubstr("pods"));
    StopLeading();
  }
  /// The time of so many seconds ago, with `fraction`.
  static std::string TimeBefore(int age, const char* fraction = "") {
    const std::time_t then = std::time(nullptr) - age;
    std::tm parts{};
    ::gmtime_r(&then, &parts);
    char time[64];
    (void)std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &parts);
    return std::string(time) + fraction + "Z";
  }
  /// Makes a Lease of this holder, renewed `age` seconds ago.
  void SetLease(const std::string& holder, int age) {
    api().Create({{"kind", "Lease"},
                  {"apiVersion", "coordination.k8s.io/v1"},
                  {"metadata", {{"name", "kuryr-controller"}, {"namespace", "kube-system"}}},
                  {"spec",
                   {{"holderIdentity", holder},
                    {"leaseDurationSeconds", 15},
                    {"renewTime", TimeBefore(age, ".123456")}}}});
  }
  void PatchPod(const std::string& name, const nlohmann::json& patch) {
    api().Patch("pods", "default", name, patch);
  }
  void SetRunning(const std::string& name) {
    PatchPod(name, {{"status",
                     {{"containerStatuses",
                       {{{"name", "c"}, {"state", {{"running", nlohmann::json::object()}}}}}}}}});
  }
  nlohmann::json CreatePort(const std::string& name, const std::string& uid,
                            const nlohmann::json& annotations) {
    return api().Create({{"kind", "KuryrPort"},
                         {"apiVersion", "openstack.org/v1"},
                         {"metadata", {{"name", name}, {"annotations", annotations}}},
                         {"spec", {{"podUid", uid}, {"podNodeName", "node1"}}},
                         {"status", {{"vifs", nlohmann::json::object()}}}});
  }
  [[nodiscard]] ProcessResult Status(const std::vector<std::string>& arguments = {}) const {
    return RunCommand("status", arguments, conf_);
  }
  [[nodiscard]] ProcessResult Orphans(const std::vector<std::string>& arguments = {}) const {
    return RunCommand("orphans", arguments, conf_);
  }

  Cluster cluster_;
  const std::string conf_ =
      ::testing::TempDir() + "kuryr-commands-" + std::to_string(::getpid()) + ".conf";
  controller::Config config_;
  controller::Reporter reporter_{true};
  controller::RoundMetrics metrics_;
  std::unique_ptr<controller::Informer> informer_;
  std::unique_ptr<controller::Leading> leading_;
};

}  // namespace kuryr::test
