#include <poll.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "controller/commands/adopt_command.h"
#include "controller/commands/move_command.h"
#include "controller/commands/orphans_command.h"
#include "controller/commands/policy_command.h"
#include "controller/commands/status_command.h"
#include "controller/commands/trace_command.h"
#include "controller/config.h"
#include "controller/controller.h"
#include "service/common_options.h"
#include "service/daemon_line.h"
#include "service/health_client.h"
#include "service/health_port.h"
#include "service/notify.h"
#include "service/report.h"
#include "service/stop_signals.h"
#include "watcher/api_options.h"
#include "watcher/credentials.h"

namespace {

namespace service = kuryr::service;
using namespace kuryr::controller;

constexpr const char* kAbout =
    "kuryr-controller writes the plans of a cluster's pods: which VIFs each of them gets, with "
    "their\n"
    "addresses. kuryr-daemon and kuryr-cni make them true on the nodes.\n";

/// What the user says beside the options of all daemons.
struct ControllerOptions {
  service::CommonOptions common;
  std::string kubeconfig;
};

Config ReadConfig(const kuryr::ConfigFiles& files, const std::string& kubeconfig) {
  Config config = kuryr::controller::LoadConfig(files, [&](const char* name) {
    const bool is_option = name == std::string_view(kuryr::watcher::kKubeconfigOption);
    return is_option && !kubeconfig.empty() ? kubeconfig.c_str() : std::getenv(name);
  });
  kuryr::watcher::WarnOfInsecureApi(config.api.api, config.api.unverified_by);
  return config;
}

Config ReadConfig(const ControllerOptions& options) {
  return ReadConfig(kuryr::ConfigFiles(options.common.config_files), options.kubeconfig);
}

Config ReadServiceConfig(const ControllerOptions& options) {
  const kuryr::ConfigFiles files(options.common.config_files);
  Config config = ReadConfig(files, options.kubeconfig);
  service::SetUpLog(options.common, config.program);
  service::WarnOfUnknownOptions(files, options.common.strict);
  config.backend->Warn();
  return config;
}

void WaitFor(int stop_fd) {
  service::Watchdog watchdog = service::Watchdog::OfProcess();
  pollfd stop{.fd = stop_fd, .events = POLLIN, .revents = 0};
  while (true) {
    const int ready = ::poll(&stop, 1, watchdog.Feed());
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) kuryr::ThrowErrno("wait for a signal");
  }
}

void Run(const Config& config) {
  const kuryr::UniqueFd signals = service::StopSignalsAsFd();
  Controller controller(config);
  const service::Health health(config.program,
                               {.why_not_alive = [] { return std::nullopt; },
                                .why_not_ready = [&controller] { return controller.WhyNotReady(); },
                                .metrics = [&controller] { return controller.Metrics(); }});
  const std::jthread thread([&](const std::stop_token& stop) { controller.Run(stop); });
  service::Notify("READY=1");
  WaitFor(signals.get());
  service::Notify("STOPPING=1");
}

struct AdoptOrder {
  bool is_dry_run = false;
  bool as_json = false;  ///< with is_dry_run
  std::string from;
};

int Adopt(const ControllerOptions& options, const AdoptOrder& order) {
  if (order.is_dry_run && order.from.empty())
    return PrintAdoption(ReadConfig(options), order.as_json);
  if (!order.is_dry_run && !order.from.empty()) return MovePlans(ReadConfig(options));
  throw std::runtime_error(
      "adopt needs one of these words:\n"
      "  --dry-run        show what a controller takes over, releases and leaves once it leads\n"
      "  --from podstate  move plans from pods' annotations to KuryrPorts\n"
      "A controller that leads takes over by itself. kuryr-controller adopt --help shows more.");
}

int Report(const ControllerOptions& options) {
  const std::vector<std::string>& files = options.common.config_files;
  std::vector<service::ReportPart> parts =
      service::HealthParts([&] { return ReadProgramOptions(kuryr::ConfigFiles(files)); });
  parts.push_back({"status", [&] { return StatusOf(ReadConfig(options)); }});
  return service::PrintReport("kuryr-controller", files, parts);
}

OrphanAct ActOf(bool remove, bool force) {
  if (!remove) return OrphanAct::kList;
  return force ? OrphanAct::kRemoveAnyway : OrphanAct::kRemove;
}

}  // namespace

int main(int argc, char** argv) {
  // OpenSSL may write to a connection that its peer has closed.
  std::signal(SIGPIPE, SIG_IGN);
  service::DaemonLine line(
      {.name = "kuryr-controller",
       .program = kAbout,
       .status = "Show what is planned, awaited and failing, and why, as the API server knows it",
       .pod = "this one's plan, and what is next",
       .ready = "it leads, or could at once"});
  std::string kubeconfig;
  line.Add("--kubeconfig FILE", kubeconfig,
           "Ask the API server of this kubeconfig, as its user, in place of kuryr.conf's");
  bool remove = false;
  bool force = false;
  service::CommandLine orphans = line.AddCommand(
      "orphans",
      "List leftovers that nobody removes: KuryrPorts of pods that are gone, finalizers");
  const service::CommandLineOption removes =
      orphans.Add("--remove", remove, "Remove them; no controller may lead");
  bool orphans_as_json = false;
  orphans.AddOutput(orphans_as_json);
  orphans.Add("--force", force, "Remove them although one leads").Need(removes);
  service::CommandLine adopt = line.AddCommand(
      "adopt", "Show what a controller takes over, releases and leaves alone once it leads");
  AdoptOrder adoption;
  adopt.Add("--dry-run", adoption.is_dry_run, "Only show it: a leading controller does it");
  adopt.AddOutput(adoption.as_json);
  adopt
      .Add("--from SINK", adoption.from,
           "Move the plans that this earlier vif_sink left in pods' annotations to KuryrPorts; no "
           "controller may lead")
      .AllowOnly({"podstate"});
  PolicyQuestion asked;
  const service::CommandLine policy = AddPolicyCommand(line, asked);
  TraceQuestion traced;
  const service::CommandLine trace = AddTraceCommand(line, traced);
  if (const auto end = line.Parse(argc, argv)) return end->Print();
  try {
    const ControllerOptions options{.common = line.options(), .kubeconfig = kubeconfig};
    if (const auto* question = line.health())
      return service::PrintHealth(
          ReadProgramOptions(kuryr::ConfigFiles(options.common.config_files)), *question);
    if (line.is_report()) return Report(options);
    if (const auto* wanted = line.status()) return PrintStatus(ReadConfig(options), *wanted);
    if (orphans.IsGiven())
      return PrintOrphans(ReadConfig(options), {ActOf(remove, force), orphans_as_json});
    if (policy.IsGiven()) return PrintPolicies(ReadConfig(options), asked);
    if (trace.IsGiven()) return PrintTrace(ReadConfig(options), traced);
    if (adopt.IsGiven()) return Adopt(options, adoption);
    Run(ReadServiceConfig(options));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "kuryr-controller: %s\n", e.what());
    return line.HasCommand() ? service::kCommandFailed : 1;
  }
}
