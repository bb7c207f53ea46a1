#include "controller/config.h"

#include <utility>

#include "base/error.h"
#include "base/names.h"

namespace kuryr::controller {
namespace {

void TakeSink(const Option& option, std::optional<SinkKind>& sink) {
  if (!option.set()) return;
  if (*option.value == "kuryrport") {
    sink = SinkKind::kKuryrPort;
  } else if (*option.value == "podstate") {
    sink = SinkKind::kPodState;
  } else if (*option.value == "vif") {
    sink = SinkKind::kVif;
  } else {
    Refuse(option.where,
           "\"" + Printable(*option.value) + "\"; expected kuryrport, podstate or vif");
  }
}

void TakeOthers(const Option& option, std::optional<OtherProducers>& others) {
  if (!option.set()) return;
  if (*option.value == "none") {
    others = OtherProducers::kNone;
  } else if (*option.value == "kuryrports") {
    others = OtherProducers::kKuryrPorts;
  } else if (*option.value == "annotations") {
    others = OtherProducers::kAnnotations;
  } else {
    Refuse(option.where,
           "\"" + Printable(*option.value) + "\"; expected none, kuryrports or annotations");
  }
}

/// What the backend takes: pools or Neutron.
void TakeBackend(const ConfigFiles& files, const GetEnv& getenv, Config& config) {
  const Option backend = files.Find("controller", "backend");
  if (!backend.set() || *backend.value == "local") {
    config.pools = pools::ReadPools(files);
  } else if (*backend.value == "neutron") {
    config.neutron = NeutronSettings{.client = neutron::ReadNeutronConfig(files, getenv),
                                     .pods = neutron::ReadPodDefaults(files)};
  } else {
    Refuse(backend.where, "\"" + Printable(*backend.value) + "\"; expected local or neutron");
  }
}

void TakeName(const Option& option, std::string& target) {
  if (!option.set()) return;
  Take(option, target);
  if (!IsDnsName(target)) Refuse(option.where, "\"" + Printable(target) + "\" is no DNS name");
}

void TakeProgram(const ConfigFiles& files, ProgramOptions& program) {
  Take(files, files.Find("health_server", "bind_address"), files.Find("health_server", "port"),
       program);
  TakeHealthSocket(files.Find("health_server", "socket"), program);
}

}  // namespace

PlanPlaces PlacesOf(const Config& config, SinkKind sink) {
  const bool writes_annotations = sink != SinkKind::kKuryrPort;
  return {.sink = sink,
          .others = config.other_producers.value_or(
              writes_annotations ? OtherProducers::kAnnotations : OtherProducers::kKuryrPorts)};
}

Config LoadConfig(std::vector<std::string> names, const GetEnv& getenv) {
  constexpr uint32_t kMostWorkers = 256;
  const ConfigFiles files(std::move(names));
  Config config;
  config.api = watcher::ReadApiOptions(files, getenv);
  TakeSink(files.Find("kubernetes", "vif_sink"), config.sink);
  Take(files.Find("kubernetes", "use_events"), config.use_events);
  TakeBackend(files, getenv, config);
  TakeOthers(files.Find("controller", "other_producers"), config.other_producers);
  Take(files.Find("controller", "leader_elect"), config.leader_elect);
  TakeName(files.Find("controller", "lease_namespace"), config.lease_namespace);
  TakeName(files.Find("controller", "lease_name"), config.lease_name);
  Take(files.Find("controller", "workers"), config.workers, 1, kMostWorkers);
  TakeProgram(files, config.program);
  return config;
}

ProgramOptions LoadProgramOptions(std::vector<std::string> names) {
  ProgramOptions program = Config().program;
  TakeProgram(ConfigFiles(std::move(names)), program);
  return program;
}

}  // namespace kuryr::controller
