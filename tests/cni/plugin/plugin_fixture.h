#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/fake_apiserver/fake_api_server.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/private_ovs.h"
#include "tests/support/subprocess.h"

namespace kuryr::test {

/// A pod and the port that was planned for it.
struct TestPod {
  std::string name;
  std::string uid;
  std::string container_id;
  std::string netns;  ///< path
  std::string port_id;
  std::string tap;
  std::string mac;
  std::string ip;   ///< in 10.10.0.0/16
  std::string ip6;  ///< in fd00:10::/64
};

/// kuryr-cni as a runtime executes it, on a node of the test's own: a real Open vSwitch, a
/// Kubernetes API over TLS.
class PluginTest : public NetnsTest {
 protected:
  static constexpr const char* kToken = "test-token";

  void SetUp() override;
  void TearDown() override;

  /// At the API server, without annotation, and with a namespace of its own.
  TestPod MakePod(const std::string& name);
  /// The primitive that Kuryr's controller writes for the pod's port.
  [[nodiscard]] nlohmann::json Vif(const TestPod& pod, bool active) const;
  void Annotate(const TestPod& pod, const nlohmann::json& vif);
  void AnnotateText(const TestPod& pod, const std::string& text);

  /// As containerd calls; `options` replace CNI_* variables, and "stdin".
  [[nodiscard]] Command Call(const std::string& command, const TestPod& pod,
                             const std::map<std::string, std::string>& options = {}) const;
  [[nodiscard]] ProcessResult Run(const std::string& command, const TestPod& pod,
                                  const std::map<std::string, std::string>& options = {}) const;
  /// An ADD whose failure is expected: its error object. Fails the test when it succeeds or leaves
  /// anything.
  nlohmann::json FailedAdd(const TestPod& pod,
                           const std::map<std::string, std::string>& options = {});

  /// Starts KURYR_KILLED_ADDS ADDs and kills each at a random moment of `whole`, which one takes.
  /// Calls `after` after each, until something has failed. How many were killed before they ended.
  int KillAdds(const TestPod& pod, std::chrono::nanoseconds whole,
               const std::function<void()>& after,
               const std::map<std::string, std::string>& options = {}) const;

  void WriteConfig(const std::string& kubernetes, const std::string& rest = {});
  /// kuryr-daemon on this node, ready for calls; the plugin finds it by its socket. `before`
  /// executes it: {"setpriv", ...}.
  void StartAgent(const std::vector<std::string>& before = {});
  [[nodiscard]] std::filesystem::path agent_socket() const { return work_ / "kuryr-daemon.sock"; }
  [[nodiscard]] std::filesystem::path status_socket() const {
    return work_ / "kuryr-daemon-status.sock";
  }
  [[nodiscard]] std::string DefaultKubernetes() const;

  [[nodiscard]] std::vector<std::string> Ports();
  [[nodiscard]] std::vector<std::string> HostVeths() const;
  [[nodiscard]] std::vector<std::string> Records() const;
  void ExpectNothingLeft();
  /// Blocks until OVS has the pod's port.
  void WaitUntilPlugged(const TestPod& pod);
  /// Makes a flow of the pod's port, and says so, as ovn-controller does.
  void InstallAsOvn(const TestPod& pod);

  std::filesystem::path work_;
  std::unique_ptr<PrivateOvs> ovs_;
  std::unique_ptr<fake::FakeApiServer> api_;
  std::optional<Process> agent_;
  int pods_made_ = 0;
};

}  // namespace kuryr::test
