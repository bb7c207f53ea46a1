#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "devices/commands/status_command.h"
#include "devices/config.h"
#include "devices/drain.h"
#include "devices/serve.h"
#include "service/common_options.h"
#include "service/daemon_line.h"
#include "service/health_client.h"
#include "service/report.h"
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
  const kuryr::ConfigFiles files(options.config_files);
  const devices::Config config = devices::LoadConfig(files);
  service::SetUpLog(options, config.program);
  service::WarnOfUnknownOptions(files, options.strict);
  devices::Serve(config, signals.get());
}

/// Says what the order means, and whether somebody is there to follow it.
int PrintTurned(const devices::Config& config, const char* outcome) {
  constexpr std::chrono::seconds kTime{5};
  std::printf("%s\n", outcome);
  const bool can_ask = config.program.health_port != 0 || !config.program.health_socket.empty();
  if (can_ask && !service::AskHealth(config.program, "/alive", kTime))
    std::printf("kuryr-devices does not answer here; it follows this once it runs\n");
  return 0;
}

int Drain(const devices::Config& config) {
  const devices::Drain drain(config.devinfo_dir);
  const bool was_on = drain.is_on();
  drain.Begin();
  return PrintTurned(config, was_on ? "was drained already: free devices are not offered"
                                    : "drained: free devices are no longer offered");
}

int Undrain(const devices::Config& config) {
  const devices::Drain drain(config.devinfo_dir);
  const bool was_on = drain.is_on();
  drain.End();
  return PrintTurned(config, was_on ? "free devices are offered again"
                                    : "was not drained: free devices are offered");
}

int Report(const std::vector<std::string>& files) {
  std::vector<service::ReportPart> parts =
      service::HealthParts([&] { return devices::ReadProgramOptions(kuryr::ConfigFiles(files)); });
  parts.push_back({"status", [&] { return devices::StatusOf(devices::LoadConfig(files)); }});
  return service::PrintReport("kuryr-devices", files, parts);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  service::DaemonLine line(
      {.name = "kuryr-devices",
       .program = kAbout,
       .status = "List the node's devices, their resources, and the pods that hold them",
       .pod = "its devices alone",
       .ready = "the kubelet knows its resources"});
  const service::CommandLine drain =
      line.AddCommand("drain", "Offer pods no more devices; they keep those that they hold");
  const service::CommandLine undrain = line.AddCommand("undrain", "Offer devices again");
  if (const auto end = line.Parse(argc, argv)) return end->Print();
  try {
    const std::vector<std::string>& files = line.options().config_files;
    if (const auto* question = line.health())
      return service::PrintHealth(devices::ReadProgramOptions(kuryr::ConfigFiles(files)),
                                  *question);
    if (line.is_report()) return Report(files);
    if (drain.IsGiven()) return Drain(devices::LoadConfig(files));
    if (undrain.IsGiven()) return Undrain(devices::LoadConfig(files));
    if (const auto* wanted = line.status())
      return devices::PrintStatus(devices::LoadConfig(files), *wanted);
    Run(line.options());
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "kuryr-devices: %s\n", e.what());
    return line.HasCommand() ? service::kCommandFailed : 1;
  }
}
