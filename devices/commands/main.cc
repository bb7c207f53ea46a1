#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>

#include "devices/commands/status_command.h"
#include "devices/config.h"
#include "devices/drain.h"
#include "devices/serve.h"
#include "service/command_line.h"
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
  CLI::App app(kAbout, "kuryr-devices");
  service::CommonOptions options;
  service::AddCommonOptions(app, options);
  service::StatusOptions wanted_status;
  const CLI::App* status = service::AddStatusCommand(
      app, wanted_status, "lists the node's devices, their resources, and the pods that have them",
      "its devices alone");
  const CLI::App* drain = app.add_subcommand(
      "drain", "from now on gives pods no device; those that they have stay theirs");
  const CLI::App* undrain = app.add_subcommand("undrain", "ends drain");
  CLI11_PARSE(app, argc, argv);
  try {
    if (drain->parsed()) return Turn(options, &devices::Drain::Begin);
    if (undrain->parsed()) return Turn(options, &devices::Drain::End);
    if (status->parsed())
      return devices::PrintStatus(devices::LoadConfig(options.config_files), wanted_status);
    Run(options);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "kuryr-devices: %s\n", e.what());
    return app.get_subcommands().empty() ? 1 : service::kCommandFailed;
  }
}
