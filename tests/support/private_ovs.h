#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/subprocess.h"

namespace kuryr::test {

/// Of DPDK's ports: 50 MiB for each, of 256 in all, or 800 MiB for however many.
enum class DpdkMemory { kOfEachPort, kShared };

/// An Open vSwitch of the test's own: real ovsdb-server and ovs-vswitchd in the calling thread's
/// network namespace, with all their files in one new folder below `parent`. Nothing of the
/// system's own Open vSwitch is used or touched. Both programs are ready when the constructor
/// returns, and end with the object or its thread.
class PrivateOvs {
 public:
  explicit PrivateOvs(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  PrivateOvs(const PrivateOvs&) = delete;
  PrivateOvs& operator=(const PrivateOvs&) = delete;
  ~PrivateOvs();

  /// What bridges of tests have: "system" where the kernel's module openvswitch is loaded, and
  /// otherwise "netdev", the userspace datapath, which is then the only one.
  [[nodiscard]] static const std::string& datapath_type();

  /// For clients: "unix:FOLDER/db.sock".
  [[nodiscard]] std::string remote() const;
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

  /// With further options of ovsdb-server(1).
  void StartServer(const std::vector<std::string>& options = {});
  void StartVswitchd();
  /// Debian's other build of it (openvswitch-switch-dpdk), with ordinary memory and without
  /// devices; as long as it has ports with DPDK, one of its threads never sleeps. False
  /// where it is not installed; throws std::system_error with its output where it does not start.
  bool StartVswitchdWithDpdk(DpdkMemory memory = DpdkMemory::kOfEachPort);
  void StopServer();
  void StopVswitchd();
  /// For signals: SIGSTOP makes one that does not answer.
  [[nodiscard]] Process& server() { return *server_; }
  [[nodiscard]] Process& vswitchd() { return *vswitchd_; }

  /// ovs-vsctl's stdout without its last newline. Throws std::runtime_error with its stderr when it
  /// fails. Waits for ovs-vswitchd only if `arguments` do not begin with "--no-wait".
  std::string Vsctl(std::vector<std::string> arguments);
  /// As ovs-ctl does at its start with --delete-transient-ports.
  void DeleteTransientPorts();
  /// Every packet is decided anew: on a busy machine ovs-vswitchd is late to see that a datapath's
  /// flow, such as one that drops, is outdated.
  void ForgetFlows();
  /// How often ovs-vswitchd has looked at the whole node, when nothing is left that would make it.
  [[nodiscard]] long CountReconfigurations();

 private:
  [[nodiscard]] std::string Path(const std::string& name) const;
  std::string Run(std::vector<std::string> argv);
  void StartVswitchd(const std::string& program);

  std::filesystem::path folder_;
  std::map<std::string, std::string> env_;
  std::optional<Process> server_;
  std::optional<Process> vswitchd_;
};

}  // namespace kuryr::test
