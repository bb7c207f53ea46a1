#include "cni/protocol/agent_call.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "cni/protocol/trace_id.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

constexpr JsonLimits kLimits = {.max_bytes = kMostMessage};

/// Waits until the socket is ready for `events`.
void Await(int socket, short events, const Deadline& deadline) {
  constexpr std::chrono::milliseconds kMost = std::chrono::hours(1);
  while (true) {
    std::array<pollfd, 2> fds = {{{.fd = socket, .events = events, .revents = 0},
                                  {.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0}}};
    const int time = static_cast<int>(std::min(deadline.Remaining(), kMost).count());
    const int ready = ::poll(fds.data(), fds.size(), time);
    if (ready < 0 && errno != EINTR) ThrowErrno("wait for the agent's socket");
    if (fds[0].revents != 0) return;
    if (fds[1].revents != 0) ThrowErrno(ECANCELED, "wait for the agent's socket");
    if (ready == 0 && deadline.Remaining().count() == 0)
      ThrowErrno(ETIMEDOUT, "wait for the agent's socket");
  }
}

/// Room for one descriptor.
union Control {
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
  cmsghdr align;
};

void AttachFd(msghdr& message, Control& control, int fd) {
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
}

void SendAll(int socket, std::string_view bytes, int fd, const Deadline& deadline) {
  while (!bytes.empty()) {
    Await(socket, POLLOUT, deadline);
    iovec part = {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
    msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    Control control = {};
    if (fd >= 0) AttachFd(message, control, fd);
    const ssize_t size = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (size < 0) ThrowErrno("send to the agent's socket");
    bytes.remove_prefix(static_cast<size_t>(size));
    fd = -1;
  }
}

/// The descriptor that a message carries beside its bytes.
struct Enclosure {
  UniqueFd fd;
  bool lost = false;
};

/// A later descriptor replaces an earlier one.
void TakeFds(msghdr& message, Enclosure& enclosed) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int received = -1;
    std::memcpy(&received, CMSG_DATA(header), sizeof received);
    enclosed.fd.reset(received);
  }
  // The kernel drops descriptors for which the process has no free number (unix(7)).
  if ((message.msg_flags & MSG_CTRUNC) != 0 && !enclosed.fd) enclosed.lost = true;
}

void ReceiveAll(int socket, char* target, size_t length, Enclosure& enclosed,
                const Deadline& deadline) {
  while (length > 0) {
    Await(socket, POLLIN, deadline);
    iovec part = {.iov_base = target, .iov_len = length};
    Control control = {};
    msghdr message = {.msg_iov = &part,
                      .msg_iovlen = 1,
                      .msg_control = control.bytes.data(),
                      // CMSG_SPACE would have room for two. The kernel closes the others.
                      .msg_controllen = CMSG_LEN(sizeof(int))};
    const ssize_t size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (size < 0) ThrowErrno("receive from the agent's socket");
    TakeFds(message, enclosed);
    if (size == 0) ThrowErrno(ECONNRESET, "receive from the agent's socket");
    target += size;
    length -= static_cast<size_t>(size);
  }
}

void SendMessage(int socket, const json& object, int fd, const Deadline& deadline) {
  const std::string body = object.dump(-1, ' ', false, json::error_handler_t::replace);
  const uint32_t length = htonl(static_cast<uint32_t>(body.size()));
  std::string message(sizeof length, '\0');
  std::memcpy(message.data(), &length, sizeof length);
  SendAll(socket, message + body, fd, deadline);
}

size_t ReceiveLength(int socket, Enclosure& enclosed, const Deadline& deadline) {
  uint32_t length = 0;
  ReceiveAll(socket, reinterpret_cast<char*>(&length), sizeof length, enclosed, deadline);
  length = ntohl(length);
  if (length > kMostMessage)
    throw ParseError("$", "has " + std::to_string(length) + " bytes, more than a message may");
  return length;
}

json ReceiveBody(int socket, size_t length, Enclosure& enclosed, const Deadline& deadline) {
  std::string body(length, '\0');
  ReceiveAll(socket, body.data(), body.size(), enclosed, deadline);
  return ParseJson(body, kLimits);
}

void ForgetBody(int socket, size_t length, const Deadline& deadline) {
  Enclosure none;
  std::array<char, 4096> part{};
  for (size_t size = 0; length > 0; length -= size) {
    size = std::min(length, part.size());
    ReceiveAll(socket, part.data(), size, none, deadline);
  }
}

/// The variables by their names in CNI.
template <typename Environment, typename Visit>
void ForEachVariable(Environment& environment, const Visit& visit) {
  visit("CNI_COMMAND", environment.command);
  visit("CNI_CONTAINERID", environment.container_id);
  visit("CNI_NETNS", environment.netns);
  visit("CNI_IFNAME", environment.ifname);
  visit("CNI_ARGS", environment.args);
  visit("CNI_PATH", environment.path);
  visit("CNI_NETNS_OVERRIDE", environment.netns_override);
}

}  // namespace

bool IsPeerGone(const std::system_error& error) {
  return error.code() == std::errc::connection_reset || error.code() == std::errc::broken_pipe;
}

void SendCall(int socket, const AgentCall& call, const Deadline& deadline) {
  json object = {{"stdin", call.input}};
  if (!call.trace_id.empty()) object[kTraceIdField] = call.trace_id;
  if (!call.query.empty()) object["query"] = call.query;
  ForEachVariable(call.environment, [&](const char* name, const auto& value) {
    if (value) object[name] = *value;
  });
  SendMessage(socket, object, call.netns.get(), deadline);
}

AgentCall ReceiveCall(int socket, const Deadline& deadline,
                      const std::function<void(size_t bytes)>& admit) {
  AgentCall call;
  Enclosure enclosed;
  const size_t length = ReceiveLength(socket, enclosed, deadline);
  try {
    admit(length);
  } catch (...) {
    ForgetBody(socket, length, deadline);
    throw;
  }
  const json object = ReceiveBody(socket, length, enclosed, deadline);
  call.netns = std::move(enclosed.fd);
  call.netns_lost = enclosed.lost;
  call.input = StringAt(object, "stdin");
  call.trace_id = StringAt(object, kTraceIdField);
  if (!IsTraceId(call.trace_id)) call.trace_id = NewTraceId();
  call.query = StringAt(object, "query");
  ForEachVariable(call.environment, [&](const char* name, auto& value) {
    if (object.contains(name)) value = StringAt(object, name);
  });
  return call;
}

void SendReply(int socket, const AgentReply& reply, const Deadline& deadline) {
  SendMessage(socket, {{"status", reply.status}, {"stdout", reply.out}}, -1, deadline);
}

bool AwaitReply(int socket, const Deadline& deadline) {
  try {
    Await(socket, POLLIN, deadline);
    return true;
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::timed_out) throw;
    return false;
  }
}

AgentReply ReceiveReply(int socket, const Deadline& deadline) {
  Enclosure none;
  const json object = ReceiveBody(socket, ReceiveLength(socket, none, deadline), none, deadline);
  const auto status = object.find("status");
  if (status == object.end() || !status->is_number_integer())
    throw ParseError("$.status", "is no exit status");
  return {.status = status->get<int>(), .out = StringAt(object, "stdout")};
}

}  // namespace kuryr::cni
