#include <csignal>
#include <cstdio>
#include <exception>

#include "devices/commands/status_command.h"
#include "devices/config.h"
#include "devices/drain.h"
#include "devices/serve.h"
#include "service/common_options.h"
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

int Turn(const service::CommonOptions& options, void (devices::Drain::*act)() const) {
  (devices::Drain(devices::LoadConfig(options.config_files).devinfo_dir).*act)();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  service::ProgramLine line("kuryr-devices", kAbout);
  service::CommonOptions options;
  service::AddCommonOptions(line, options);
  service::StatusOptions wanted_status;
  const service::CommandLine status = service::AddStatusCommand(
      line, wanted_status, "lists the node's devices, their resources, and the pods that have them",
      "its devices alone");
  const service::CommandLine drain = line.AddCommand(
      "drain", "from now on gives pods no device; those that they have stay theirs");
  const service::CommandLine undrain = line.AddCommand("undrain", "ends drain");
  std::string question;
  const service::CommandLine health =
      service::AddHealthCommand(line, question, "the kubelet knows its resources");
  if (const auto end = line.Parse(argc, argv)) return end->Print();
  try {
    if (health.IsGiven())
      return service::PrintHealth(devices::LoadProgramOptions(options.config_files), question);
    if (drain.IsGiven()) return Turn(options, &devices::Drain::Begin);
    if (undrain.IsGiven()) return Turn(options, &devices::Drain::End);
    if (status.IsGiven())
      return devices::PrintStatus(devices::LoadConfig(options.config_files), wanted_status);
    Run(options);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "kuryr-devices: %s\n", e.what());
    return line.HasCommand() ? service::kCommandFailed : 1;
  }
}
