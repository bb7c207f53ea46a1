#include "binding/ovs/openflow.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/unix_socket.h"
#include "binding/ovs/openflow_message.h"
#include "ovsdb/error.h"

namespace kuryr::binding {
namespace {

constexpr size_t kIdOffset = 4;

/// An error's type and code (OpenFlow 1.3, 7.4.4).
std::string ErrorText(const std::vector<uint8_t>& message) {
  const auto number = [&](size_t at) { return openflow::NumberAt(message, at, 2); };
  const uint64_t type = number(openflow::kHeaderSize);
  if (type == 0) return R"(the bridge does not allow OpenFlow 1.3 (its column "protocols"))";
  return "OpenFlow error " + std::to_string(type) + "." +
         std::to_string(number(openflow::kHeaderSize + 2));
}

}  // namespace

std::string OpenFlow::FolderOf(const std::string& ovsdb_connection) {
  constexpr std::string_view kUnix = "unix:";
  if (!ovsdb_connection.starts_with(kUnix)) return "/var/run/openvswitch";
  return std::filesystem::path(ovsdb_connection.substr(kUnix.size())).parent_path();
}

OpenFlow::OpenFlow(const std::string& ovsdb_connection, const std::string& bridge,
                   const Deadline& deadline)
    : what_("the flows of bridge " + Printable(bridge)),
      socket_(ConnectToUnix(FolderOf(ovsdb_connection) + "/" + bridge + ".mgmt")) {
  Append(openflow::Hello());
  Write(deadline);
}

bool OpenFlow::Begin() {
  // The hello is every caller's.
  if (is_greeted_) first_id_ = next_id_;
  std::array<pollfd, 1> fds = {{{.fd = socket_.get(), .events = POLLRDHUP, .revents = 0}}};
  return ::poll(fds.data(), fds.size(), 0) == 0;
}

void OpenFlow::Add(uint64_t cookie, const Flow& flow) { Append(openflow::Addition(cookie, flow)); }

void OpenFlow::Delete(uint64_t cookie, uint64_t mask, const FlowMatch& match) {
  Append(openflow::Deletion(cookie, mask, match));
}

void OpenFlow::Send(const Deadline& deadline) {
  // ovs-vswitchd reads nothing of a connection that ends before its own hello is sent.
  if (!is_greeted_) (void)Await(openflow::kHello, deadline);
  Write(deadline);
}

void OpenFlow::Finish(const Deadline& deadline) {
  Append(openflow::Message(openflow::kBarrierRequest, {}));
  Write(deadline);
  (void)Await(openflow::kBarrierReply, deadline);
}

uint32_t OpenFlow::Count(uint64_t cookie, uint64_t mask, const FlowMatch& match,
                         const Deadline& deadline) {
  Append(openflow::Ask(openflow::Question::kCount, cookie, mask, match));
  Write(deadline);
  return openflow::CountIn(Await(openflow::kMultipartReply, deadline));
}

std::vector<PresentFlow> OpenFlow::List(uint64_t cookie, uint64_t mask, const Deadline& deadline) {
  Append(openflow::Ask(openflow::Question::kFlows, cookie, mask, {}));
  Write(deadline);
  std::vector<PresentFlow> flows;
  for (bool has_more = true; has_more;) {
    const Bytes reply = Await(openflow::kMultipartReply, deadline);
    openflow::AddFlowsIn(reply, flows);
    has_more = openflow::HasMore(reply);
  }
  return flows;
}

void OpenFlow::WaitUntilClosed(const Deadline& deadline) {
  try {
    for (;;) (void)Await(openflow::kHello, deadline);
  } catch (const std::system_error& e) {
    if (e.code().value() != ECONNRESET) throw;
  }
}

void OpenFlow::Append(Bytes message) {
  for (size_t i = 0; i < sizeof next_id_; ++i)
    message.at(kIdOffset + i) = static_cast<uint8_t>(next_id_ >> (8 * (3 - i)));
  ++next_id_;
  out_.insert(out_.end(), message.begin(), message.end());
}

void OpenFlow::Write(const Deadline& deadline) {
  const Bytes out = std::exchange(out_, {});
  for (size_t sent = 0; sent < out.size();) {
    const ssize_t size = ::send(socket_.get(), out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
    if (size > 0) {
      sent += static_cast<size_t>(size);
    } else if (errno == EAGAIN) {
      WaitFor(POLLOUT, deadline);
    } else if (errno == EPIPE) {
      // ovs-vswitchd may have said why it ended the connection.
      for (;;) Answer(Receive(deadline), deadline);
    } else if (errno != EINTR) {
      ThrowErrno(what_);
    }
  }
}

OpenFlow::Bytes OpenFlow::Await(uint8_t type, const Deadline& deadline) {
  for (;;) {
    Bytes message = Receive(deadline);
    const uint8_t got = message.at(1);
    if (got == openflow::kHello) is_greeted_ = true;
    if (got == type) return message;
    Answer(message, deadline);
  }
}

void OpenFlow::Answer(const Bytes& message, const Deadline& deadline) {
  const uint8_t type = message.at(1);
  if (type == openflow::kEchoRequest) {
    Append(openflow::Message(openflow::kEchoReply,
                             {message.begin() + openflow::kHeaderSize, message.end()}));
    Write(deadline);
  } else if (type == openflow::kError) {
    const auto id = static_cast<uint32_t>(openflow::NumberAt(message, kIdOffset, 4));
    const std::string text = what_ + ": " + ErrorText(message);
    // Ids begin anew after 2^32.
    if (static_cast<int32_t>(id - first_id_) >= 0) throw OvsError(text);
    Log(LogLevel::kDebug, "an earlier change of flows was refused", {{"error", text}});
  }
}

OpenFlow::Bytes OpenFlow::Receive(const Deadline& deadline) {
  for (;;) {
    if (in_.size() >= openflow::kHeaderSize) {
      const size_t size = openflow::NumberAt(in_, 2, 2);
      if (size < openflow::kHeaderSize) throw OvsError(what_ + ": a message without its header");
      if (in_.size() >= size) {
        const auto end = in_.begin() + static_cast<std::ptrdiff_t>(size);
        Bytes message(in_.begin(), end);
        in_.erase(in_.begin(), end);
        return message;
      }
    }
    std::array<uint8_t, 4096> chunk{};
    const ssize_t size = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
    if (size > 0) {
      in_.insert(in_.end(), chunk.begin(), chunk.begin() + size);
    } else if (size == 0) {
      ThrowErrno(ECONNRESET, what_);
    } else if (errno == EAGAIN) {
      WaitFor(POLLIN, deadline);
    } else if (errno != EINTR) {
      ThrowErrno(what_);
    }
  }
}

void OpenFlow::WaitFor(short events, const Deadline& deadline) const {
  std::array<pollfd, 2> fds = {{{.fd = socket_.get(), .events = events, .revents = 0},
                                {.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0}}};
  const auto time = std::min<int64_t>(deadline.Remaining().count(), 60'000);
  if (::poll(fds.data(), fds.size(), static_cast<int>(time)) < 0 && errno != EINTR)
    ThrowErrno(what_);
  if (fds[1].revents != 0) ThrowErrno(ECANCELED, what_);
  if (fds[0].revents == 0 && deadline.Remaining().count() == 0) ThrowErrno(ETIMEDOUT, what_);
}

}  // namespace kuryr::binding
