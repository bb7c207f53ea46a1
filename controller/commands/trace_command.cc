#include "controller/commands/trace_command.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/error.h"
#include "controller/backends/backend_factory.h"
#include "controller/backends/facets.h"
#include "controller/commands/asked_port.h"
#include "controller/commands/pod_key.h"
#include "controller/commands/survey.h"
#include "service/table.h"

namespace kuryr::controller {
namespace {

constexpr size_t kMostTrace = 1200;  ///< the longest line

vif::VifBase DefaultVifOf(Survey& survey, const std::string& name) {
  const auto pod = survey.FindPod(PodKey(name));
  if (!pod) throw std::runtime_error("there is no pod " + name);
  const std::vector<vif::PodVif> vifs = survey.FindVifs(*pod);
  const auto vif = std::find_if(vifs.begin(), vifs.end(),
                                [](const vif::PodVif& planned) { return planned.is_default; });
  if (vif == vifs.end())
    throw std::runtime_error("pod " + name + " has no plan, so it has no logical port");
  return vif::Common(vif->vif);
}

}  // namespace

service::CommandLine AddTraceCommand(service::CommandLine& line, TraceQuestion& question) {
  service::CommandLine trace =
      line.AddCommand("trace", "Ask ovn-trace whether OVN takes a packet from one pod to another");
  trace.Add("POD", question.from, "NAMESPACE/NAME of the pod that sends").Require().AllowPod();
  trace.Add("PEER", question.to, "NAMESPACE/NAME of the pod that it would reach")
      .Require()
      .AllowPod();
  trace.Add("PORT", question.port, "The peer's port: tcp/80, udp/53 or sctp/9 (default: a ping)");
  trace.AddOutput(question.as_json);
  return trace;
}

int PrintTrace(const Config& config, const TraceQuestion& question) {
  const std::optional<AskedPort> port =
      question.port.empty() ? std::nullopt : std::optional(PortOf(question.port));
  Survey survey(config);
  const PacketTracer* const tracer = survey.backend().facets().tracer;
  if (tracer == nullptr)
    throw std::runtime_error(std::string("backend ") + config.backend->name() +
                             " has no logical ports; trace is for [controller] backend = ovn");
  const PacketFate fate = tracer->Trace({.from = DefaultVifOf(survey, question.from),
                                         .to = DefaultVifOf(survey, question.to),
                                         .protocol = port ? port->protocol : "",
                                         .port = port ? port->number : uint16_t{0}});
  const std::string where = Printable(fate.where, kMostTrace);
  if (question.as_json) {
    service::PrintJson({{"from", question.from},
                        {"to", question.to},
                        {"reaches", fate.arrives},
                        {"where", where}});
    return fate.arrives ? 0 : service::kUnwell;
  }
  std::printf("%s %s in %s\n", fate.arrives ? "reaches" : "does not reach", question.to.c_str(),
              where.c_str());
  return fate.arrives ? 0 : service::kUnwell;
}

}  // namespace kuryr::controller
