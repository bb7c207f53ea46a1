#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/subprocess.h"

namespace kuryr::test {

/// The memory of DPDK's ports: 50 MiB for each, of 256 in all, or 800 MiB for all together.
enum class DpdkMemory { kOfEachPort, kShared };

/// An Open vSwitch of the test's own: real ovsdb-server and ovs-vswitchd in the calling thread's
/// network namespace, with all their files in one new folder below `parent`. The system's Open
/// vSwitch is neither used nor touched. Both programs are ready when the constructor returns, and
/// end with the object or its thread.
class PrivateOvs {
 public:
  explicit PrivateOvs(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  PrivateOvs(const PrivateOvs&) = delete;
  PrivateOvs& operator=(const PrivateOvs&) = delete;
  ~PrivateOvs();

  /// The datapath type of tests' bridges: "system" if the kernel's module openvswitch is loaded,
  /// else "netdev", the userspace datapath, which is then the only one.
  [[nodiscard]] static const std::string& datapath_type();

  /// The address for clients: "unix:FOLDER/db.sock".
  [[nodiscard]] std::string remote() const;
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

  /// Starts ovsdb-server with further options of ovsdb-server(1).
  void StartServer(const std::vector<std::string>& options = {});
  void StartVswitchd();
  /// Starts Debian's other build of it (openvswitch-switch-dpdk), with ordinary memory and without
  /// devices. As long as it has ports with DPDK, one of its threads never sleeps. False if it is
  /// not installed; throws std::system_error with its output if it does not start.
  bool StartVswitchdWithDpdk(DpdkMemory memory = DpdkMemory::kOfEachPort);
  void StopServer();
  void StopVswitchd();
  /// For signals: SIGSTOP makes a server that does not answer.
  [[nodiscard]] Process& server() { return *server_; }
  [[nodiscard]] Process& vswitchd() { return *vswitchd_; }

  /// Runs ovs-vsctl; returns its stdout without the last newline. Throws std::runtime_error with
  /// its stderr when it fails. Waits for ovs-vswitchd unless `arguments` begin with "--no-wait".
  std::string Vsctl(std::vector<std::string> arguments);
  /// Deletes the ports as ovs-ctl does at its start with --delete-transient-ports.
  void DeleteTransientPorts();
  /// Makes ovs-vswitchd decide on every packet anew. On a busy machine, it is late to see that a
  /// datapath's flow, such as one that drops, is outdated.
  void ForgetFlows();
  /// How often ovs-vswitchd has looked at the whole node. Returns when no cause for another look is
  /// left.
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
