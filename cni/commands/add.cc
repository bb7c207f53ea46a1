#include "cni/commands/add.h"

#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/rollback.h"
#include "binding/netlink/route_socket.h"
#include "binding/netns.h"
#include "binding/try_all.h"
#include "cni/commands/add_handler.h"
#include "cni/commands/standalone_add.h"
#include "cni/commands/unplug.h"
#include "cni/failure.h"
#include "cni/ovs_cni/cache.h"
#include "cni/pod/pod_reporter.h"
#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

binding::Netns OpenPodNetns(const Request& request) {
  try {
    binding::Netns pod = binding::Netns::Open(request.netns_path());
    if (pod.id() == binding::Netns::Current().id() && !request.netns_override) {
      throw CniError(ErrorCode::kOwnNetns,
                     "CNI_NETNS " + Printable(request.netns) + " is the plugin's own namespace");
    }
    return pod;
  } catch (const std::system_error& e) {
    // A lack of descriptors says nothing about the namespace.
    if (e.code() == std::errc::too_many_files_open ||
        e.code() == std::errc::too_many_files_open_in_system)
      throw;
    throw CniError(ErrorCode::kInvalidEnvironment, "CNI_NETNS is no network namespace",
                   Printable(e.what(), 300));
  }
}

binding::RateLimits LimitsOf(const Bandwidth& bandwidth) {
  return {.received = {.rate = bandwidth.ingress_rate, .burst = bandwidth.ingress_burst},
          .sent = {.rate = bandwidth.egress_rate, .burst = bandwidth.egress_burst}};
}

AttachmentRecord NewRecord(const Request& request, const NodeContext& node,
                           const binding::Netns& pod) {
  return {.key = {request.config.name, request.container_id, request.ifname},
          .netns = request.netns,
          .netns_id = pod.id(),
          .pod = request.pod.key(),
          .pod_uid = request.pod.uid,
          .boot_id = BootId(),
          .owner = node.owner,
          .trace_id = request.trace_id,
          .limits = LimitsOf(request.wishes.bandwidth)};
}

[[noreturn]] void ThrowExists(const Request& request) {
  throw CniError(ErrorCode::kInterfaceExists,
                 "interface " + request.ifname + " exists in the container already");
}

/// An agent may be killed between its last write and its answer. Then the plugin asks the next.
bool IsOfSameCall(const AttachmentRecord& record, const Request& request) {
  return !record.trace_id.empty() && record.trace_id == request.trace_id;
}

/// An attachment that stands stays as it is; what a killed ADD or a lost namespace left is undone.
void UnplugLeftover(const Request& request, const NodeContext& node, const binding::Netns& pod,
                    LockedAttachment& attachment) {
  const bool taken = binding::RouteSocket::OpenIn(pod).FindLink(request.ifname).has_value();
  const auto& leftover = attachment.record();
  const bool stands = leftover && leftover->added && !IsOfSameCall(*leftover, request);
  if (taken && (!leftover || stands)) ThrowExists(request);
  if (leftover) Unplug(*leftover, request, node, Deadline::After(kUndoTime));
}

/// Removes an attachment that has no record: the ADD has made nothing yet.
void RemoveEmpty(LockedAttachment& attachment) noexcept {
  try {
    if (!attachment.record()) attachment.Remove();
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "empty record not removed", {{"error", e.what()}});
  }
}

/// Releases the addresses first, while the delegated plugin has the interface. The record goes
/// last, and stays when something could not be undone.
void Undo(const Request& request, PodPlugs& plugs) noexcept {
  try {
    binding::TryAll steps;
    steps.Try([&] {
      ReleaseAddresses(*plugs.attachment().record(), request, Deadline::After(kUndoTime));
    });
    steps.Try([&] { plugs.Unplug(); });
    steps.Finish();
    plugs.attachment().Remove();
  } catch (const std::exception& e) {
    Log(LogLevel::kError, "failed add not fully undone; its record is kept for the DEL",
        {{"error", e.what()}});
  }
}

Result AddFromEvents(const Call& call, PodPlugs& plugs, PodReporter& reporter) {
  call.stages.OnStage(Stage::kWaitVif);
  AddHandler handler(call, plugs, reporter);
  Rollback stop([&] { call.events.Stop(); });
  call.events.Start(call.request.pod, handler);
  Result result = handler.Wait();
  // The switch was being programmed meanwhile.
  call.stages.OnStage(Stage::kWaitWiring);
  plugs.WaitUntilWired();
  return result;
}

/// nullopt: the plugin is the first one.
std::optional<Result> ReadPrevResult(const Request& request) {
  if (!request.config.prev_result) return std::nullopt;
  try {
    return DecodeResult(*request.config.prev_result, request.config.version, "$.prevResult");
  } catch (const ParseError& e) {
    throw CniError(ErrorCode::kDecodeFailure, "malformed prevResult", e.what());
  }
}

/// Tells ovs-cni of the attachment, in case ovs-cni is to unplug the pod.
void KeepForOvsCni(const Call& call, const PodPlugs& plugs) {
  const Request& request = call.request;
  nlohmann::json config = request.config.json;
  config["bridge"] = request.config.standalone->bridge;
  if (!request.wishes.device_id.empty()) config["deviceID"] = request.wishes.device_id;
  const binding::Plug& plug = plugs.planned().front().plug;
  OvsCniCache(call.config.ovs_cni_cache_dir)
      .Write(request.container_id, request.ifname, config,
             plug.device.empty() ? "" : plug.host_interface);
}

Result MakeStandalone(const Call& call, PodPlugs& plugs) {
  call.stages.OnStage(Stage::kPlug);
  Result result = AddStandalone(call.request, plugs, call.deadline);
  if (call.request.config.standalone->ovs_cni) KeepForOvsCni(call, plugs);
  return result;
}

nlohmann::ordered_json AnswerFor(const Request& request, const std::optional<Result>& previous,
                                 Result result) {
  if (!request.wishes.dns.empty()) result.dns = request.wishes.dns;
  const SpecVersion version = request.config.version;
  if (!previous) return EncodeResult(result, version);
  return AppendResult(*request.config.prev_result, *previous, result, version);
}

/// Locks the attachment and writes a record without plugs. Unplugs what a killed ADD has left.
LockedAttachment Begin(const Call& call, const binding::Netns& pod) {
  const Request& request = call.request;
  auto attachment =
      call.node.attachments.Create({request.config.name, request.container_id, request.ifname});
  if (!attachment) {
    throw CniError(ErrorCode::kTryAgainLater,
                   "another call is changing interface " + request.ifname + " of container " +
                       request.container_id,
                   "the runtime repeats this one");
  }
  Rollback empty_record([&] { RemoveEmpty(*attachment); });
  UnplugLeftover(request, call.node, pod, *attachment);
  attachment->Write(NewRecord(request, call.node, pod));
  empty_record.Dismiss();
  return *std::move(attachment);
}

/// Plugs all or nothing. At the end, the record says that the attachment stands.
nlohmann::ordered_json Plug(const Call& call, const std::optional<Result>& previous,
                            PodPlugs& plugs, PodReporter& reporter) {
  const Request& request = call.request;
  try {
    Result result = request.config.standalone ? MakeStandalone(call, plugs)
                                              : AddFromEvents(call, plugs, reporter);
    auto answer = AnswerFor(request, previous, std::move(result));
    AttachmentRecord added = *plugs.attachment().record();
    added.added = true;
    added.vifs = plugs.vifs();
    plugs.attachment().Write(std::move(added));
    plugs.Announce();
    reporter.OnAdded(plugs.plugged());
    if (call.on_added) call.on_added(*plugs.attachment().record());
    return answer;
  } catch (...) {
    call.stages.OnStage(Stage::kUnplug);
    Undo(request, plugs);
    throw;
  }
}

}  // namespace

std::string Add(const Call& call) {
  PodReporter reporter(call.request, call.config.reports, call.config.node_name, call.node.writer);
  try {
    const std::optional<Result> previous = ReadPrevResult(call.request);
    const binding::Netns pod = OpenPodNetns(call.request);
    LockedAttachment attachment = Begin(call, pod);
    PodPlugs plugs(call.node.binding, attachment, pod, call.deadline);
    return Plug(call, previous, plugs, reporter).dump();
  } catch (...) {
    reporter.OnFailed(AsCniError(std::current_exception()), call.deadline.Remaining().count() == 0);
    throw;
  }
}

}  // namespace kuryr::cni
