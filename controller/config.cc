#include "controller/config.h"

#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "controller/backends/table.h"

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

std::shared_ptr<const BackendFactory> ReadBackend(const ConfigFiles& files, const GetEnv& getenv) {
  const Option option = files.Find("controller", "backend");
  const std::string name = option.set() ? *option.value : kBackends.front().name;
  std::string names;
  for (const BackendRow& row : kBackends) {
    if (name == row.name) return row.read(files, getenv);
    names += std::string(names.empty() ? "" : " or ") + row.name;
  }
  Refuse(option.where, "\"" + Printable(name) + "\"; expected " + names);
}

void TakeName(const Option& option, std::string& target) {
  if (!option.set()) return;
  Take(option, target);
  if (!IsDnsName(target)) Refuse(option.where, "\"" + Printable(target) + "\" is no DNS name");
}

}  // namespace

PlanPlaces PlacesOf(const Config& config, SinkKind sink) {
  const bool writes_annotations = sink != SinkKind::kKuryrPort;
  return {.sink = sink,
          .others = config.other_producers.value_or(
              writes_annotations ? OtherProducers::kAnnotations : OtherProducers::kKuryrPorts)};
}

Config LoadConfig(std::vector<std::string> names, const GetEnv& getenv) {
  return LoadConfig(ConfigFiles(std::move(names)), getenv);
}

Config LoadConfig(const ConfigFiles& files, const GetEnv& getenv) {
  constexpr uint32_t kMostWorkers = 256;
  Config config;
  config.api = watcher::ReadApiOptions(files, getenv);
  TakeSink(files.Find("kubernetes", "vif_sink"), config.sink);
  Take(files.Find("kubernetes", "use_events"), config.use_events);
  config.backend = ReadBackend(files, getenv);
  TakeOthers(files.Find("controller", "other_producers"), config.other_producers);
  Take(files.Find("controller", "leader_elect"), config.leader_elect);
  TakeName(files.Find("controller", "lease_namespace"), config.lease_namespace);
  TakeName(files.Find("controller", "lease_name"), config.lease_name);
  Take(files.Find("controller", "workers"), config.workers, 1, kMostWorkers);
  config.node_network = ReadNodeNetwork(files);
  config.program = ReadProgramOptions(files);
  return config;
}

ProgramOptions ReadProgramOptions(const ConfigFiles& files) {
  ProgramOptions program = Config().program;
  Take(files,
       {files.Find("health_server", "bind_address"), files.Find("health_server", "port"),
        files.Find("health_server", "socket")},
       program);
  return program;
}

}  // namespace kuryr::controller
