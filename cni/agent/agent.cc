#include "cni/agent/agent.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/rollback.h"
#include "base/thread_annotations.h"
#include "cni/agent/registry/registry_events.h"
#include "cni/attachments/attachment_record.h"
#include "cni/commands/command_table.h"
#include "cni/failure.h"
#include "cni/protocol/agent_socket.h"
#include "cni/protocol/error.h"
#include "watcher/api_error.h"
#include "watcher/failure_log.h"

namespace kuryr::cni {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kSweepTime{60};

/// A pod that has gone before its runtime knew is no reason to warn.
LogLevel LevelOf(const CniError& error) {
  return error.code() == ErrorCode::kUnknownContainer ? LogLevel::kInfo : LogLevel::kWarning;
}

std::string WhatOf(const std::exception& failure) { return failure.what(); }

/// Passes on what the server has answered: the pods' watch tells of a silent one.
watcher::FailureHandler IfAnswered(watcher::FailureHandler handler) {
  return [handler = std::move(handler)](const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const watcher::ApiUnavailable&) {
      return;
    } catch (const std::exception&) {
      handler(failure);
    }
  };
}

[[noreturn]] void ThrowStarved() {
  throw CniError(ErrorCode::kTryAgainLater, "kuryr-daemon has no file descriptor left",
                 "LimitNOFILE of its service allows too few for [cni_daemon] max_calls");
}

}  // namespace

Agent::Agent(const Config& config, int stop_fd)
    : config_(config),
      attachments_(config.state_dir),
      binding_(ForDrivers(config, attachments_)),
      writer_(config.api),
      node_{.binding = binding_, .attachments = attachments_, .owner = {}, .writer = writer_},
      sweep_(node_, Deadline::After(kSweepTime, stop_fd)),
      registry_(config.vif_source,
                {.follow = [this](const std::string& key) { port_reader_.Follow(key); },
                 .unfollow = [this](const std::string& key) { port_reader_.Unfollow(key); },
                 .changed =
                     [this](const std::string& key) {
                       if (config_.repair != RepairMode::kOff) hot_plug_.Wake(upkeep_, key);
                     }}),
      pod_watcher_(config.api, pipeline_,
                   [this, log = watcher::LogFailures("the pods cannot be watched", WhatOf)](
                       const std::exception_ptr& failure) {
                     log(failure);
                     registry_.OnWatchFailure(failure);
                   }),
      port_reader_(
          config.api,
          {.handler = pipeline_,
           .is_complete = [this](const std::string& key) { return registry_.IsComplete(key); },
           .on_failure =
               IfAnswered([this, log = watcher::LogFailures("KuryrPorts cannot be read", WhatOf)](
                              const std::exception_ptr& failure) {
                 log(failure);
                 registry_.OnPortFailure(failure);
               })}),
      port_sweep_(node_,
                  {.knows_pods = [this] { return KnowsPods(); },
                   .has_pod = [this](const std::string& uid) { return registry_.HasPod(uid); }},
                  config_.orphan_grace),
      flow_sweep_(node_),
      switch_wait_(binding_),
      repair_(node_, config_, switch_wait_),
      node_network_(node_, config_),
      certificate_(node_, config_),
      policies_(config_, attachments_),
      hot_plug_(node_, config_, registry_, switch_wait_, repair_),
      upkeep_(Jobs()) {
  pipeline_.Register(registry_);
  pipeline_.Register(errors_);
  // The node's name is a DNS name, which needs no escaping.
  pod_watcher_.Add("/api/v1/pods?fieldSelector=spec.nodeName%3D" + config_.node_name,
                   watcher::WatchMode::kSet);
  pod_watcher_.Start();
  if (config_.repair != RepairMode::kOff) repair_events_.emplace(repair_, upkeep_, config_);
  node_network_.Start(upkeep_);
  certificate_.Start();
  policies_.Start();
}

Agent::~Agent() {
  pod_watcher_.Stop();
  port_reader_.Stop();
  node_network_.Stop();
  policies_.Stop();
}

std::vector<UpkeepJob*> Agent::Jobs() {
  std::vector<UpkeepJob*> jobs = {&sweep_, &node_network_};
  if (config_.node_network.enabled && config_.binding.port_security) jobs.push_back(&flow_sweep_);
  if (config_.orphan_grace.count() != 0) jobs.push_back(&port_sweep_);
  if (config_.repair != RepairMode::kOff) jobs.insert(jobs.end(), {&repair_, &hot_plug_});
  return jobs;
}

AgentReply Agent::Answer(const AgentCall& call, const EventFd& cancel) {
  if (!call.query.empty())
    return {.status = 1, .out = "questions go to " + StatusSocketOf(config_.agent_socket)};
  CallMetrics::Running running(calls_);
  AgentReply reply;
  Request request;
  LogLevel level = LogLevel::kInfo;
  try {
    request = ParseRequest(call.environment, call.input);
    request.netns_fd = call.netns.get();
    request.trace_id = call.trace_id;
    if (call.netns_lost) ThrowStarved();
    running.SetCommand(request.command, LongestFor(request.command, config_));
    reply.out = Serve(request, running, cancel);
    errors_.Forget(request);
  } catch (...) {
    const CniError error = ErrorFor(request, AsCniError(std::current_exception()));
    running.SetError(error.code());
    errors_.Add(request, error);
    level = LevelOf(error);
    // A large request is not parsed twice: its version is known as a rule.
    const std::string& known = request.config.cni_version;
    reply = {.status = 1,
             .out = ErrorJson(error, known.empty() ? AnswerVersion(call.input) : known)};
  }
  log_.Tell(level, call, request, reply, Clock::now() - running.begin());
  return reply;
}

std::string Agent::Serve(const Request& request, StageObserver& stages, const EventFd& cancel) {
  if (request.config.standalone || !request.config.ipam.empty()) {
    throw CniError(ErrorCode::kUnsupportedField, "a network without producer is not the agent's",
                   "delegated plugins need the runtime's environment; kuryr-cni serves it alone");
  }
  const bool needs_netns = request.command == Command::kAdd || request.command == Command::kCheck;
  if (needs_netns && request.netns_fd < 0) {
    // This process may see another namespace at the path.
    throw CniError(ErrorCode::kInvalidEnvironment, "CNI_NETNS is no network namespace",
                   Printable(request.netns, 300) + " could not be opened by the plugin");
  }
  const AttachmentKey key = {request.config.name, request.container_id, request.ifname};
  if (request.command == Command::kDel) cancellations_.Cancel(key);
  std::optional<Cancellations::Entry> entry;
  if (request.command == Command::kAdd) entry.emplace(cancellations_, key, cancel);
  Rollback failed_del([&] {
    if (config_.repair != RepairMode::kOff) hot_plug_.Retry(upkeep_, key);
  });
  if (request.command != Command::kDel) failed_del.Dismiss();
  std::optional<Upkeep::Pause> pause;
  if (request.command == Command::kAdd || request.command == Command::kDel)
    pause.emplace(upkeep_, key);
  // A DEL's own changes wake no repair.
  if (request.command == Command::kDel) repair_.Forget(key);
  // A DEL that fails has not unplugged: the pod's policies stay.
  Rollback forget([&]() noexcept { policies_.Forget(key); });
  if (request.command != Command::kAdd) forget.Dismiss();
  const Deadline deadline = Deadline::After(LongestFor(request.command, config_), cancel.fd());
  RegistryEvents events(
      registry_, config_.api,
      {.require_ready = [this] { RequireReady(); }, .has_listed = [this] { return HasListed(); }});
  std::string answer = FindCommand(request.command)(
      {.request = request,
       .node = node_,
       .config = config_,
       .events = events,
       .stages = stages,
       .deadline = deadline,
       .on_planned =
           [this, &deadline](const AttachmentRecord& record) { policies_.Admit(record, deadline); },
       .on_added =
           [this](const AttachmentRecord& record) {
             if (config_.repair != RepairMode::kOff) hot_plug_.Follow(upkeep_, record);
           }});
  failed_del.Dismiss();
  forget.Dismiss();
  if (request.command == Command::kDel) policies_.Forget(key);
  return answer;
}

void Agent::RequireReady() const {
  if (const auto why = WhyNotWatching())
    throw CniError(ErrorCode::kNotAvailable, "the API server " + *why, config_.api.api_root);
}

}  // namespace kuryr::cni
