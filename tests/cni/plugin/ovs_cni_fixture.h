#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cni/plugin/plugin_fixture.h"

namespace kuryr::test {

/// kuryr-cni in ovs-cni's place, on a node with bridges mynet0, mynet1 and br1 of Open vSwitch.
class OvsCniTest : public PluginTest {
 protected:
  using json = nlohmann::json;

  void SetUp() override {
    PluginTest::SetUp();
    WriteOwnConfig();
    for (const char* bridge : {"mynet0", "mynet1", "br1"}) AddBridge(bridge);
    ports_before_ = Ports();
  }
  void WriteOwnConfig(const std::string& rest = "") {
    WriteConfig(DefaultKubernetes(), "[ovs_cni]\ncache_dir = " + cache().string() + "\n" + rest);
  }
  /// Why no limit can be set for what pods receive; empty where one can.
  static std::string WhyNotShaped() {
    const bool has_htb =
        RunProgram({.argv = {"tc", "qdisc", "add", "dev", "lo", "root", "htb"}}).status == 0;
    return has_htb ? "" : "the kernel has no HTB (module sch_htb)";
  }
  void AddBridge(const std::string& name) {
    ovs_->Vsctl({"add-br", name, "--", "set", "Bridge", name,
                 "datapath_type=" + PrivateOvs::datapath_type()});
  }
  [[nodiscard]] std::filesystem::path cache() const { return work_ / "ovscache"; }
  [[nodiscard]] std::filesystem::path CacheFile(const TestPod& pod) const {
    return cache() / (pod.container_id + "-eth0");
  }

  /// ovs-cni's unless it says otherwise, with the test's kuryr.conf.
  [[nodiscard]] std::string Conf(json config) const {
    if (!config.contains("type")) config["type"] = "ovs";
    if (!config.contains("name")) config["name"] = "ovs-net";
    config["kuryr_conf"] = (work_ / "kuryr.conf").string();
    return config.dump();
  }
  [[nodiscard]] std::map<std::string, std::string> Options(const json& config) const {
    return {{"stdin", Conf(config)}, {"CNI_PATH", "/usr/lib/cni"}};
  }
  /// CNI_ARGS with `args` behind what names the pod.
  [[nodiscard]] static std::string Args(const TestPod& pod, const std::string& args) {
    return "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=" + pod.name +
           ";K8S_POD_UID=" + pod.uid + ";" + args;
  }

  /// The host's end.
  std::string Added(const TestPod& pod, const json& config, const std::string& args = "") {
    auto options = Options(config);
    if (!args.empty()) options["CNI_ARGS"] = Args(pod, args);
    const ProcessResult result = Run("ADD", pod, options);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    result_ = json::parse(result.out, nullptr, false);
    if (result.status != 0) return "";
    return result_["interfaces"][0].value("name", "");
  }
  /// Beside the bridges' own; empty: none.
  std::string OnlyNewPort() {
    for (const std::string& port : Ports()) {
      if (std::find(ports_before_.begin(), ports_before_.end(), port) == ports_before_.end())
        return port;
    }
    return "";
  }
  json Refused(const TestPod& pod, const json& config, const std::string& args = "") {
    const auto ports = Ports();
    const auto veths = HostVeths();
    auto options = Options(config);
    if (!args.empty()) options["CNI_ARGS"] = Args(pod, args);
    const ProcessResult result = Run("ADD", pod, options);
    EXPECT_EQ(result.status, 1) << result.out;
    EXPECT_EQ(Ports(), ports);
    EXPECT_EQ(HostVeths(), veths);
    return json::parse(result.out, nullptr, false);
  }
  void ExpectDeleted(const TestPod& pod, const json& config,
                     const std::map<std::string, std::string>& more = {}) {
    auto options = Options(config);
    for (const auto& [name, value] : more) options[name] = value;
    const ProcessResult result = Run("DEL", pod, options);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(LinkIn(pod, "eth0"), json());
    EXPECT_FALSE(std::filesystem::exists(CacheFile(pod)));
  }
  void ExpectNothingButBridges() {
    EXPECT_EQ(Ports(), ports_before_);
    EXPECT_EQ(HostVeths(), std::vector<std::string>());
    EXPECT_EQ(Records(), std::vector<std::string>());
    EXPECT_EQ(Rows("QoS"), "");
    EXPECT_EQ(Rows("Queue"), "");
    EXPECT_EQ(Rows("Mirror"), "");
  }

  std::string Get(const char* table, const std::string& name, const std::string& column) {
    return ovs_->Vsctl({"--no-wait", "get", table, name, column});
  }
  /// The rows' names, or UUIDs in tables without names.
  std::string Rows(const std::string& table) {
    const std::string column = table == "Mirror" ? "name" : "_uuid";
    return ovs_->Vsctl({"--no-wait", "--bare", "--columns=" + column, "list", table});
  }
  std::string BridgeOf(const std::string& port) { return ovs_->Vsctl({"port-to-br", port}); }
  /// Null where there is none.
  static json LinkIn(const TestPod& pod, const std::string& name) {
    if (!std::filesystem::exists(pod.netns)) return {};
    const json links =
        json::parse(RunIn(binding::Netns::Open(pod.netns), {"ip", "-json", "address"}));
    for (const json& link : links) {
      if (link.at("ifname") == name) return link;
    }
    return {};
  }
  static std::string Text(const std::filesystem::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  json result_;
  std::vector<std::string> ports_before_;
};

}  // namespace kuryr::test
