#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "devices/commands/status_command.h"
#include "devices/config.h"
#include "devices/drain.h"
#include "devices/serve.h"
#include "service/common_options.h"
#include "service/daemon_line.h"
#include "service/health_client.h"
#include "service/stop_signals.h"

namespace {

namespace service = kuryr::service;
namespace devices = kuryr::devices;

constexpr const char* kAbout =
    "kuryr-devices offers a node's devices to its kubelet: virtual functions of network cards "
    "above\n"
    "all, by the config.json of sriov-network-device-plugin.\n";

void Run(const service::CommonOptions& options) {
  const kuryr::UniqueFd signals = service::StopSignalsAsFd();
  const devices::Config config = devices::LoadConfig(options.config_files);
  service::SetUpLog(options, config.program);
  devices::Serve(config, signals.get());
}

int Turn(const std::vector<std::string>& files, void (devices::Drain::*act)() const) {
  (devices::Drain(devices::LoadConfig(files).devinfo_dir).*act)();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  service::DaemonLine line(
      {.name = "kuryr-devices",
       .program = kAbout,
       .status = "lists the node's devices, their resources, and the pods that have them",
       .pod = "its devices alone",
       .ready = "the kubelet knows its resources"});
  const service::CommandLine drain = line.AddCommand(
      "drain", "from now on gives pods no device; those that they have stay theirs");
  const service::CommandLine undrain = line.AddCommand("undrain", "ends drain");
  if (const auto end = line.Parse(argc, argv)) return end->Print();
  try {
    const std::vector<std::string>& files = line.options().config_files;
    if (const auto* question = line.health())
      return service::PrintHealth(devices::ReadProgramOptions(kuryr::ConfigFiles(files)),
                                  *question);
    if (drain.IsGiven()) return Turn(files, &devices::Drain::Begin);
    if (undrain.IsGiven()) return Turn(files, &devices::Drain::End);
    if (const auto* wanted = line.status())
      return devices::PrintStatus(devices::LoadConfig(files), *wanted);
    Run(line.options());
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "kuryr-devices: %s\n", e.what());
    return line.HasCommand() ? service::kCommandFailed : 1;
  }
}
