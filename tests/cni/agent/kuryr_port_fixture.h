#pragma once

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cni/agent/agent_fixture.h"
#include "tests/support/paths.h"

namespace kuryr::test {

/// As `status.vifs` has them: of one VIF, eth0.
inline nlohmann::json Vifs(const nlohmann::json& vif) {
  return {{"eth0", {{"default", true}, {"vif", vif}}}};
}

/// The KuryrPort of a pod, with a status of these VIFs.
inline nlohmann::json PortOf(const TestPod& pod, const nlohmann::json& vifs) {
  return {{"apiVersion", "openstack.org/v1"},
          {"kind", "KuryrPort"},
          {"metadata",
           {{"name", pod.name},
            {"labels", {{"kuryr.openstack.org/nodeName", "node1"}}},
            {"finalizers", {"kuryr.openstack.org/kuryrport-finalizer"}}}},
          {"spec", {{"podUid", pod.uid}, {"podNodeName", "node1"}, {"podStatic", false}}},
          {"status", {{"vifs", vifs}}}};
}

inline nlohmann::json WithOtherName(nlohmann::json vif) {
  vif["versioned_object.data"]["vif_name"] = "tapother";
  return vif;
}

inline size_t Count(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

/// Pods whose VIFs a KuryrPort has, and kuryr-daemon on the node.
class KuryrPortTest : public AgentTest {
 protected:
  void PlanVifs(const TestPod& pod, const nlohmann::json& vifs) {
    api_->Patch("kuryrports", "default", pod.name, {{"status", {{"vifs", vifs}}}});
  }
  void DeletePort(const std::string& name) {
    api_->Delete("kuryrports", "default", name);
    api_->Patch("kuryrports", "default", name, {{"metadata", {{"finalizers", nullptr}}}});
  }
  /// From here the agent knows of what was made before.
  void LetTheAgentKnow() {
    const TestPod last = MakePod("last-" + std::to_string(pods_made_));
    api_->Create(PortOf(last, Vifs(Vif(last, true))));
    ASSERT_EQ(Run("ADD", last).status, 0);
    ASSERT_EQ(Run("DEL", last).status, 0);
  }
  void RestartAgent(const std::string& config) {
    StopAgent(SIGTERM);
    WriteConfig(DefaultKubernetes(), config);
    StartAgent();
    ASSERT_TRUE(api_->WaitForWatches(kAgentWatches));
  }
  [[nodiscard]] ProcessResult Status() const {
    return RunProgram({.argv = {test::BinDir() + "/kuryr-daemon", "--config-file",
                                (work_ / "kuryr.conf").string(), "status"}});
  }
  std::string PortFact(const TestPod& pod, const std::string& key) {
    return ovs_->Vsctl({"get", "Interface", pod.tap, "external_ids:" + key});
  }
  [[nodiscard]] static std::string AddressesIn(const TestPod& pod) {
    return RunIn(binding::Netns::Open(pod.netns), {"ip", "-brief", "address", "show", "eth0"});
  }
};

}  // namespace kuryr::test
