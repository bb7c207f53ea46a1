#include "binding/ovs/openflow.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "ovsdb/error.h"

namespace kuryr::binding {
namespace {

/// OpenFlow 1.3, which every bridge speaks whose column "protocols" is empty.
constexpr uint8_t kVersion = 4;
constexpr size_t kHeader = 8;
constexpr uint32_t kAny = 0xffffffff;
constexpr uint16_t kBasicClass = 0x8000;
/// Open vSwitch's own fields and actions (ovs-fields(7), ovs-actions(7)).
constexpr uint16_t kNiciraClass = 1;
constexpr uint32_t kNicira = 0x2320;
/// A register that neither Neutron's agent nor NORMAL uses: 1 where a flow has passed the packet.
constexpr uint8_t kPassedRegister = 8;

enum MessageType : uint8_t {
  kHello = 0,
  kError = 1,
  kEchoRequest = 2,
  kEchoReply = 3,
  kFlowMod = 14,
  kMultipartRequest = 18,
  kMultipartReply = 19,
  kBarrierRequest = 20,
  kBarrierReply = 21,
};

template <std::unsigned_integral Number>
void Put(std::vector<uint8_t>& to, Number number) {
  for (size_t i = sizeof number; i-- > 0;)
    to.push_back(static_cast<uint8_t>(uint64_t{number} >> (8 * i)));
}

void Put(std::vector<uint8_t>& to, const std::vector<uint8_t>& bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void PadTo8(std::vector<uint8_t>& bytes) { bytes.resize((bytes.size() + 7) / 8 * 8); }

uint64_t NumberAt(const std::vector<uint8_t>& bytes, size_t offset, size_t size) {
  uint64_t number = 0;
  for (size_t i = 0; i < size; ++i) number = number << 8 | bytes.at(offset + i);
  return number;
}

std::vector<uint8_t> Message(uint8_t type, const std::vector<uint8_t>& body) {
  std::vector<uint8_t> message = {kVersion, type};
  Put(message, static_cast<uint16_t>(kHeader + body.size()));
  Put(message, uint32_t{0});
  Put(message, body);
  return message;
}

void PutField(std::vector<uint8_t>& to, uint16_t of_class, uint8_t field,
              std::span<const uint8_t> value) {
  Put(to, of_class);
  Put(to, static_cast<uint8_t>(field << 1));
  Put(to, static_cast<uint8_t>(value.size()));
  to.insert(to.end(), value.begin(), value.end());
}

void PutPassed(std::vector<uint8_t>& to, uint8_t value) {
  PutField(to, kNiciraClass, kPassedRegister, std::array<uint8_t, 4>{0, 0, 0, value});
}

void PutMatch(std::vector<uint8_t>& to, const FlowMatch& match) {
  constexpr uint16_t kExtensible = 1;
  Put(to, kExtensible);
  Put(to, static_cast<uint16_t>(4 + match.fields().size()));
  Put(to, match.fields());
  PadTo8(to);
}

/// Notes in the register that the packet has passed, and looks it up in table 0 once more.
std::vector<uint8_t> PassingActions() {
  constexpr uint16_t kSetField = 25;
  constexpr uint16_t kVendor = 0xffff;
  constexpr uint16_t kResubmitTable = 14;
  constexpr uint16_t kSamePort = 0xfff8;
  std::vector<uint8_t> actions;
  Put(actions, kSetField);
  Put(actions, uint16_t{16});
  PutPassed(actions, 1);
  PadTo8(actions);
  Put(actions, kVendor);
  Put(actions, uint16_t{16});
  Put(actions, kNicira);
  Put(actions, kResubmitTable);
  Put(actions, kSamePort);
  Put(actions, uint32_t{0});
  return actions;
}

enum class Command : uint8_t { kAdd = 0, kDelete = 3 };

std::vector<uint8_t> FlowChange(Command command, uint64_t cookie, uint64_t mask, const Flow& flow) {
  constexpr uint16_t kApplyActions = 4;
  std::vector<uint8_t> body;
  Put(body, cookie);
  Put(body, mask);
  Put(body, uint8_t{0});  // the table
  Put(body, static_cast<uint8_t>(command));
  Put(body, uint32_t{0});  // never outdated
  Put(body, flow.priority);
  for (int i = 0; i < 3; ++i) Put(body, kAny);  // buffer, and any output
  Put(body, uint32_t{0});
  PutMatch(body, flow.match);
  if (command == Command::kAdd && flow.passes) {
    const std::vector<uint8_t> actions = PassingActions();
    Put(body, kApplyActions);
    Put(body, static_cast<uint16_t>(8 + actions.size()));
    Put(body, uint32_t{0});
    Put(body, actions);
  }
  return Message(kFlowMod, body);
}

UniqueFd ConnectTo(const std::string& path, const std::string& what) {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path) ThrowErrno(ENAMETOOLONG, what);
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) ThrowErrno(what);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    ThrowErrno(what);
  return socket;
}

}  // namespace

FlowMatch FlowMatch::With(FlowField field, std::span<const uint8_t> value) const {
  FlowMatch match = *this;
  PutField(match.fields_, kBasicClass, static_cast<uint8_t>(field), value);
  return match;
}

FlowMatch FlowMatch::InPort(uint32_t port) const {
  std::vector<uint8_t> value;
  Put(value, port);
  return With(FlowField::kInPort, value);
}

FlowMatch FlowMatch::EthernetType(uint16_t type) const {
  return Number16(FlowField::kEthernetType, type);
}

FlowMatch FlowMatch::Untagged() const { return Number16(FlowField::kVlan, 0); }

FlowMatch FlowMatch::Number8(FlowField field, uint8_t value) const {
  return With(field, {&value, 1});
}

FlowMatch FlowMatch::Number16(FlowField field, uint16_t value) const {
  std::vector<uint8_t> bytes;
  Put(bytes, value);
  return With(field, bytes);
}

FlowMatch FlowMatch::Mac(FlowField field, const MacAddress& mac) const {
  return With(field, mac.bytes);
}

FlowMatch FlowMatch::Ip(FlowField field, const IpAddress& address) const {
  return With(field, std::span(address.bytes).first(address.size()));
}

FlowMatch FlowMatch::Unpassed() const {
  FlowMatch match = *this;
  PutPassed(match.fields_, 0);
  return match;
}

std::string OpenFlow::FolderOf(const std::string& ovsdb_connection) {
  constexpr std::string_view kUnix = "unix:";
  if (!ovsdb_connection.starts_with(kUnix)) return "/var/run/openvswitch";
  return std::filesystem::path(ovsdb_connection.substr(kUnix.size())).parent_path();
}

OpenFlow::OpenFlow(const std::string& ovsdb_connection, const std::string& bridge,
                   const Deadline& deadline)
    : what_("the flows of bridge " + Printable(bridge)),
      socket_(ConnectTo(FolderOf(ovsdb_connection) + "/" + bridge + ".mgmt", what_)) {
  Bytes versions;
  Put(versions, uint16_t{1});
  Put(versions, uint16_t{8});
  Put(versions, uint32_t{1} << kVersion);
  Append(Message(kHello, versions));
  Send(deadline);
}

void OpenFlow::Add(uint64_t cookie, const Flow& flow) {
  Append(FlowChange(Command::kAdd, cookie, 0, flow));
}

void OpenFlow::Delete(uint64_t cookie, uint64_t mask, const FlowMatch& match) {
  Append(FlowChange(Command::kDelete, cookie, mask, {.match = match}));
}

void OpenFlow::Finish(const Deadline& deadline) {
  Append(Message(kBarrierRequest, {}));
  Send(deadline);
  (void)Await(kBarrierReply, deadline);
}

uint32_t OpenFlow::Count(uint64_t cookie, uint64_t mask, const FlowMatch& match,
                         const Deadline& deadline) {
  constexpr uint16_t kAggregate = 2;
  constexpr size_t kFlowCount = 32;
  Bytes body;
  Put(body, kAggregate);
  Put(body, uint16_t{0});
  Put(body, uint32_t{0});
  Put(body, uint32_t{0});  // the table
  Put(body, kAny);
  Put(body, kAny);
  Put(body, uint32_t{0});
  Put(body, cookie);
  Put(body, mask);
  PutMatch(body, match);
  Append(Message(kMultipartRequest, body));
  Send(deadline);
  return static_cast<uint32_t>(NumberAt(Await(kMultipartReply, deadline), kFlowCount, 4));
}

void OpenFlow::WaitUntilClosed(const Deadline& deadline) {
  try {
    for (;;) (void)Await(kHello, deadline);
  } catch (const std::system_error& e) {
    if (e.code().value() != ECONNRESET) throw;
  }
}

void OpenFlow::Send(const Deadline& deadline) {
  size_t sent = 0;
  while (sent < out_.size()) {
    const ssize_t size =
        ::send(socket_.get(), out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL);
    if (size > 0) {
      sent += static_cast<size_t>(size);
    } else if (errno == EAGAIN) {
      WaitFor(POLLOUT, deadline);
    } else if (errno != EINTR) {
      ThrowErrno(errno == EPIPE ? ECONNRESET : errno, what_);
    }
  }
  out_.clear();
}

OpenFlow::Bytes OpenFlow::Await(uint8_t type, const Deadline& deadline) {
  for (;;) {
    Bytes message = Receive(deadline);
    const uint8_t got = message.at(1);
    if (got == type) return message;
    if (got == kEchoRequest) {
      Append(Message(kEchoReply, {message.begin() + kHeader, message.end()}));
      Send(deadline);
    } else if (got == kError) {
      const auto number = [&](size_t at) { return std::to_string(NumberAt(message, at, 2)); };
      throw OvsError(what_ + ": OpenFlow error " + number(kHeader) + "." + number(kHeader + 2));
    }
  }
}

OpenFlow::Bytes OpenFlow::Receive(const Deadline& deadline) {
  for (;;) {
    if (in_.size() >= kHeader) {
      const size_t size = NumberAt(in_, 2, 2);
      if (size < kHeader) throw OvsError(what_ + ": a message without its header");
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
