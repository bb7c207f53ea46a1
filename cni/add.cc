#include "cni/add.h"

#include <system_error>

#include "base/error.h"
#include "base/log.h"
#include "base/rollback.h"
#include "binding/netlink/route_socket.h"
#include "binding/netns.h"
#include "cni/add_handler.h"
#include "cni/disconnect.h"
#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

binding::Netns OpenPodNetns(const Request& request) {
  try {
    binding::Netns pod = binding::Netns::Open(request.netns);
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

AttachmentRecord NewRecord(const Request& request, const binding::Netns& pod) {
  return {.key = {request.network, request.container_id, request.ifname},
          .netns = request.netns,
          .netns_id = pod.id(),
          .pod = request.pod.name_space + "/" + request.pod.name,
          .pod_uid = request.pod.uid,
          .boot_id = BootId(),
          .owner = ProcessId::Own()};
}

[[noreturn]] void ThrowExists(const Request& request) {
  throw CniError(ErrorCode::kInterfaceExists,
                 "interface " + request.ifname + " exists in the container already",
                 "container " + request.container_id);
}

/// An attachment that stands stays as it is; what a killed ADD or a lost namespace left is undone.
void ClearLeftover(const Request& request, const Node& node, const binding::Netns& pod,
                   LockedAttachment& attachment) {
  const bool taken = binding::RouteSocket::OpenIn(pod).FindLink(request.ifname).has_value();
  const auto& leftover = attachment.record();
  if (taken && (!leftover || leftover->added)) ThrowExists(request);
  if (leftover) DisconnectAll(node.binding, *leftover, Deadline::After(kUndoTime));
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
void GiveUp(AddHandler& handler, LockedAttachment& attachment) noexcept {
  try {
    handler.Undo();
    attachment.Remove();
  } catch (const std::exception& e) {
    Log(LogLevel::kError, "failed add not fully undone; its record is kept for the DEL",
        {{"error", e.what()}});
  }
}

}  // namespace

Result Add(const Request& request, const Node& node, PodEventSource& events,
           const Deadline& deadline) {
  const binding::Netns pod = OpenPodNetns(request);
  auto attachment =
      node.attachments.Create({request.network, request.container_id, request.ifname});
  if (!attachment) {
    throw CniError(ErrorCode::kTryAgainLater, "another request is at work on this attachment",
                   "container " + request.container_id + ", interface " + request.ifname);
  }
  Rollback empty_record([&] { RemoveEmpty(*attachment); });
  ClearLeftover(request, node, pod, *attachment);
  attachment->Write(NewRecord(request, pod));
  empty_record.Dismiss();

  AddHandler handler(request, pod, node.binding, *attachment, deadline);
  try {
    events.Start(request.pod, handler,
                 [&](const std::exception_ptr& failure) { handler.OnWatchFailure(failure); });
    Result result = handler.Wait();
    events.Stop();
    AttachmentRecord added = *attachment->record();
    added.added = true;
    attachment->Write(std::move(added));
    return result;
  } catch (...) {
    events.Stop();
    GiveUp(handler, *attachment);
    throw;
  }
}

}  // namespace kuryr::cni
