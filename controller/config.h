#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/node_network_options.h"
#include "config/program_options.h"
#include "controller/backends/backend_factory.h"
#include "controller/plan/plan_places.h"
#include "watcher/api_options.h"

namespace kuryr::controller {

/// The options of kuryr.conf; docs/controller.md has the table.
struct Config {
  watcher::ApiOptions api;       ///< [kubernetes]
  std::optional<SinkKind> sink;  ///< [kubernetes] vif_sink; nullopt: ChooseSink decides
  std::optional<OtherProducers> other_producers;  ///< [controller] other_producers
  bool use_events = true;                         ///< [kubernetes] use_events
  bool leader_elect = true;                       ///< [controller] leader_elect
  std::string lease_namespace = "kube-system";    ///< [controller] lease_namespace
  std::string lease_name = "kuryr-controller";    ///< [controller] lease_name
  uint32_t workers = 8;                           ///< [controller] workers
  std::shared_ptr<const BackendFactory> backend;  ///< [controller] backend, with its own sections
  NodeNetworkOptions node_network;                ///< [node_network]

  ProgramOptions program{.health_port = 8082};  ///< [health_server], [DEFAULT]
};

/// The places where plans count, for a controller that writes to `sink`. By default KuryrPorts
/// count, and annotations if `sink` is one.
[[nodiscard]] PlanPlaces PlacesOf(const Config& config, SinkKind sink);

/// Reads the files in order, a later one winning; with none named, the default file if it is there.
/// Throws ConfigError that names file, section and option.
[[nodiscard]] Config LoadConfig(std::vector<std::string> files, const GetEnv& getenv);
[[nodiscard]] Config LoadConfig(const ConfigFiles& files, const GetEnv& getenv);
/// Reads only the options that the command `health` needs; others may be malformed by now. Throws
/// ConfigError.
[[nodiscard]] ProgramOptions ReadProgramOptions(const ConfigFiles& files);

}  // namespace kuryr::controller
