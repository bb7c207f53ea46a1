#include "cni/add.h"

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/rollback.h"
#include "binding/netlink/route_socket.h"
#include "binding/netns.h"
#include "binding/steps.h"
#include "cni/add_handler.h"
#include "cni/attachments/disconnect.h"
#include "cni/local_add.h"
#include "cni/protocol/error.h"
#include "cni/unmake.h"

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
    throw CniError(ErrorCode::kInvalidEnvironment, "CNI_NETNS is no network namespace",
                   Printable(e.what(), 300));
  }
}

AttachmentRecord NewRecord(const Request& request, const Node& node, const binding::Netns& pod) {
  return {.key = {request.config.name, request.container_id, request.ifname},
          .netns = request.netns,
          .netns_id = pod.id(),
          .pod = request.pod.name_space + "/" + request.pod.name,
          .pod_uid = request.pod.uid,
          .boot_id = BootId(),
          .owner = node.owner};
}

[[noreturn]] void ThrowExists(const Request& request) {
  throw CniError(ErrorCode::kInterfaceExists,
                 "interface " + request.ifname + " exists in the container already");
}

/// An attachment that stands stays as it is; what a killed ADD or a lost namespace left is undone.
void ClearLeftover(const Request& request, const Node& node, const binding::Netns& pod,
                   LockedAttachment& attachment) {
  const bool taken = binding::RouteSocket::OpenIn(pod).FindLink(request.ifname).has_value();
  const auto& leftover = attachment.record();
  if (taken && (!leftover || leftover->added)) ThrowExists(request);
  if (leftover) Unmake(*leftover, request, node, Deadline::After(kUndoTime));
}

/// Nothing was made yet that a record would tell of.
void RemoveEmpty(LockedAttachment& attachment) noexcept {
  try {
    if (!attachment.record()) attachment.Remove();
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "empty record not removed", {{"error", e.what()}});
  }
}

/// The record goes last, and stays when something could not be undone.
void GiveUp(const Request& request, PodPlugs& plugs) noexcept {
  try {
    binding::Steps steps;
    steps.Try([&] { plugs.Unplug(); });
    steps.Try([&] {
      ReleaseAddresses(*plugs.attachment().record(), request, Deadline::After(kUndoTime));
    });
    steps.Finish();
    plugs.attachment().Remove();
  } catch (const std::exception& e) {
    Log(LogLevel::kError, "failed add not fully undone; its record is kept for the DEL",
        {{"error", e.what()}});
  }
}

Result AddFromEvents(const Call& call, PodPlugs& plugs, AddObserver& observer) {
  call.stages.OnStage(Stage::kWaitVif);
  AddHandler handler(call, plugs, observer);
  Rollback stop([&] { call.events.Stop(); });
  call.events.Start(call.request.pod, handler,
                    [&](const std::exception_ptr& failure) { handler.OnWatchFailure(failure); });
  Result result = handler.Wait();
  // Who programs the switch was at it meanwhile.
  call.stages.OnStage(Stage::kWaitWiring);
  plugs.WaitUntilWired();
  return result;
}

void RequireReadablePrevResult(const Request& request) {
  if (!request.config.prev_result) return;
  try {
    (void)DecodeResult(*request.config.prev_result, request.config.version, "$.prevResult");
  } catch (const ParseError& e) {
    throw CniError(ErrorCode::kDecodeFailure, "malformed prevResult", e.what());
  }
}

Result MakeLocal(const Call& call, PodPlugs& plugs) {
  call.stages.OnStage(Stage::kPlug);
  return AddLocal(call.request, plugs, call.deadline);
}

nlohmann::ordered_json AnswerFor(const Request& request, Result result) {
  if (!request.wishes.dns.empty()) result.dns = request.wishes.dns;
  const auto& previous = request.config.prev_result;
  const SpecVersion version = request.config.version;
  return previous ? AppendResult(*previous, result, version) : EncodeResult(result, version);
}

}  // namespace

nlohmann::ordered_json Add(const Call& call, AddObserver& observer) {
  const Request& request = call.request;
  const Node& node = call.node;
  RequireReadablePrevResult(request);
  const binding::Netns pod = OpenPodNetns(request);
  auto attachment =
      node.attachments.Create({request.config.name, request.container_id, request.ifname});
  if (!attachment) {
    throw CniError(ErrorCode::kTryAgainLater, "another request is at work on this attachment");
  }
  Rollback empty_record([&] { RemoveEmpty(*attachment); });
  ClearLeftover(request, node, pod, *attachment);
  attachment->Write(NewRecord(request, node, pod));
  empty_record.Dismiss();

  PodPlugs plugs(node.binding, *attachment, pod, call.deadline);
  try {
    Result result =
        request.config.local ? MakeLocal(call, plugs) : AddFromEvents(call, plugs, observer);
    auto answer = AnswerFor(request, std::move(result));
    AttachmentRecord added = *attachment->record();
    added.added = true;
    attachment->Write(std::move(added));
    observer.OnAdded(plugs.plugged());
    return answer;
  } catch (...) {
    call.stages.OnStage(Stage::kUnplug);
    GiveUp(request, plugs);
    throw;
  }
}

}  // namespace kuryr::cni
