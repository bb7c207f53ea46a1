#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "controller/leading.h"
#include "tests/controller/cluster.h"

namespace kuryr::test {

using controller::Config;
using controller::Leading;
using controller::Reporter;
using controller::RoundMetrics;
using controller::SinkKind;
using nlohmann::json;

/// A pool of two addresses.
inline constexpr const char* kTwoAddresses =
    "[pool:small]\ncidr = 10.9.0.0/29\nranges = 10.9.0.2-10.9.0.3\n"
    "namespaces = *\nrest = 0\n";

/// A controller that leads a cluster with one node.
class LeadingTest : public ::testing::Test {
 protected:
  explicit LeadingTest(const fake::Options& options = {}) : cluster_(options) {}

  void SetUp() override {
    api().Create({{"kind", "Node"}, {"apiVersion", "v1"}, {"metadata", {{"name", "node1"}}}});
    if (!config_.backend) Pools("[pool:pods]\ncidr = 10.8.0.0/16\nnamespaces = *\nrest = 0\n");
  }

  fake::FakeApiServer& api() { return cluster_.api(); }
  void Pools(const std::string& text) {
    const std::string file = ::testing::TempDir() + "kuryr-pools-" + std::to_string(::getpid());
    std::ofstream(file) << text;
    config_ = controller::LoadConfig({file}, [](const char*) { return nullptr; });
    std::filesystem::remove(file);
    config_.api.api = cluster_.ApiConfig();
  }
  void Start(SinkKind sink = SinkKind::kPodState) {
    if (!informer_) informer_ = std::make_unique<controller::Informer>(config_);
    leading_ = std::make_unique<Leading>(
        Leading::Parts{config_, reporter_, metrics_, *informer_, holds_ports_}, sink,
        [this] { return may_write_.load(); });
  }
  void Stop() { leading_.reset(); }
  void Restart() {
    Stop();
    Start();
  }
  void SetStatus(const std::string& pod, const json& status) {
    api().Patch("pods", "default", pod, {{"status", status}});
  }
  static bool HasVifs(const json& port) { return port.is_object() && !VifsOn(port).empty(); }
  json WaitForPort(const std::string& name) { return cluster_.WaitFor("KuryrPort", name, HasVifs); }
  std::string Metrics() {
    service::MetricsText text;
    leading_->WriteTo(text);
    return text.text();
  }
  size_t Writes(const std::string& path) {
    const auto requests = api().Requests();
    return static_cast<size_t>(
        std::count_if(requests.begin(), requests.end(), [&](const auto& request) {
          return request.path.starts_with(path) && request.method != "GET";
        }));
  }

  Cluster cluster_;
  Config config_;
  Reporter reporter_{true};
  RoundMetrics metrics_;
  bool holds_ports_ = true;
  std::atomic<bool> may_write_ = true;
  std::unique_ptr<controller::Informer> informer_;
  std::unique_ptr<Leading> leading_;
};

}  // namespace kuryr::test
