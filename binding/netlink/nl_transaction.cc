#include "binding/netlink/nl_transaction.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <memory>
#include <semaphore>

#include "base/error.h"
#include "binding/netlink/nl_error.h"
#include "binding/netlink/nl_value.h"

namespace kuryr::binding {
namespace {

// One link with all attributes except its statistics is below 4 KiB, an acknowledgement far less.
// The list of a physical function's 256 virtual ones may fill an attribute, 64 KiB.
using Buffer = std::array<std::byte, 131072>;

/// The kernel answers while the request is sent or the answer received: one that does not come in
/// this time was lost.
constexpr timeval kAnswerTime = {.tv_sec = 60};

/// The next datagram of the kernel. A process with CAP_NET_ADMIN in a pod's namespace can send
/// others to a socket there before OpenNlSocket has connected it.
int Receive(nl_sock& socket, Buffer& buffer, const std::string& what) {
  sockaddr_nl sender{};
  ssize_t length = 0;
  do {
    socklen_t sender_length = sizeof sender;
    length = ::recvfrom(nl_socket_get_fd(&socket), buffer.data(), buffer.size(), MSG_TRUNC,
                        reinterpret_cast<sockaddr*>(&sender), &sender_length);
  } while (length < 0 ? errno == EINTR : sender.nl_pid != 0);
  if (length < 0 && errno == EAGAIN) ThrowErrno(ETIMEDOUT, what + ": the kernel does not answer");
  if (length < 0) ThrowErrno(what + ": receive the answer");
  if (static_cast<size_t>(length) > buffer.size()) ThrowErrno(EMSGSIZE, what);
  return static_cast<int>(length);
}

std::string ExplanationOf(nlmsghdr& message) {
  if ((message.nlmsg_flags & NLM_F_ACK_TLVS) == 0) return {};
  std::array<nlattr*, NLMSGERR_ATTR_MAX + 1> attributes{};
  if (nlmsg_parse(&message, sizeof(nlmsgerr), attributes.data(), NLMSGERR_ATTR_MAX, nullptr) < 0)
    return {};
  return TextIn(attributes[NLMSGERR_ATTR_MSG]);
}

const char* NameOf(int protocol) {
  if (protocol == NETLINK_ROUTE) return "route";
  if (protocol == NETLINK_GENERIC) return "generic";
  return protocol == NETLINK_NETFILTER ? "netfilter" : "sock_diag";
}

/// NLMSG_ERROR and NLMSG_DONE both begin with it, negated.
int ErrorOf(nlmsghdr& message) {
  int error = 0;
  if (nlmsg_datalen(&message) < static_cast<int>(sizeof error)) return EPROTO;
  std::memcpy(&error, nlmsg_data(&message), sizeof error);
  return error > 0 || error == INT_MIN ? EPROTO : -error;
}

/// Bytes of the buffer that the kernel keeps for itself: 32 now.
constexpr size_t kHeaders = 4096;

/// Threads that may ask the kernel something at the same time. The kernel works while they are in
/// send(2), mostly under one lock for all links of the host (RTNL). Those that wait for such a lock
/// spin, and would take the processors from the one that has it.
constexpr ptrdiff_t kMostAtOnce = 8;
std::counting_semaphore<kMostAtOnce> free_turns(kMostAtOnce);

/// A deletion needs none: it waits some 15 ms for readers of the link, without the lock.
void Send(nl_sock& socket, nl_msg& request, const std::string& what) {
  const bool waits = nlmsg_hdr(&request)->nlmsg_type == RTM_DELLINK;
  if (!waits) free_turns.acquire();
  const int result = nl_send_auto(&socket, &request);
  if (!waits) free_turns.release();
  CheckNl(result, what);
}

/// The kernel takes no message that is larger than the socket's buffer.
void MakeRoom(nl_sock& socket, size_t size, const std::string& what) {
  const int fd = nl_socket_get_fd(&socket);
  int room = 0;
  socklen_t length = sizeof room;
  if (::getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, &length) != 0) ThrowErrno(what);
  const int wanted = static_cast<int>(size + kHeaders);
  if (room >= wanted) return;
  if (::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &wanted, sizeof wanted) != 0) ThrowErrno(what);
}

/// Drops what is left of earlier answers: the kernel answers a batch while it is sent.
void DropUnread(nl_sock& socket) {
  const int fd = nl_socket_get_fd(&socket);
  while (::recv(fd, nullptr, 0, MSG_DONTWAIT | MSG_TRUNC) >= 0 || errno == ENOBUFS) {
  }
}

/// Hands the messages that answer `request` to `take`, until that returns true.
void Exchange(nl_sock& socket, nl_msg& request, const std::string& what,
              const std::function<bool(nlmsghdr&)>& take) {
  Send(socket, request, what);
  const uint32_t sequence = nlmsg_hdr(&request)->nlmsg_seq;
  const auto buffer = std::make_unique_for_overwrite<Buffer>();
  while (true) {
    int left = Receive(socket, *buffer, what);
    auto* message = reinterpret_cast<nlmsghdr*>(buffer->data());
    for (; nlmsg_ok(message, left) != 0; message = nlmsg_next(message, &left)) {
      // An earlier request on this socket may have ended in an exception before its answer.
      if (message->nlmsg_seq == sequence && take(*message)) return;
    }
  }
}

}  // namespace

NlSocketPtr OpenNlSocket(int protocol) {
  NlSocketPtr socket = Owned<NlSocketPtr>(nl_socket_alloc());
  const std::string what = std::string("open a ") + NameOf(protocol) + " socket";
  CheckNl(nl_connect(socket.get(), protocol), what);
  const int fd = nl_socket_get_fd(socket.get());
  const sockaddr_nl kernel{.nl_family = AF_NETLINK};
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) != 0 ||
      ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kAnswerTime, sizeof kAnswerTime) != 0) {
    ThrowErrno(what);
  }
  // Where the kernel does not know them, errors come without the explanation, and a dump of one
  // link's objects is one of all.
  const int on = 1;
  for (const int option : {NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK})
    ::setsockopt(fd, SOL_NETLINK, option, &on, sizeof on);
  return socket;
}

NlAnswer Transact(nl_sock& socket, nl_msg& request, const std::string& what) {
  NlAnswer answer;
  Exchange(socket, request, what, [&answer](nlmsghdr& message) {
    if (message.nlmsg_type != NLMSG_ERROR) {
      answer.object = Owned<NlMsgPtr>(nlmsg_convert(&message));
      return false;
    }
    answer.error = ErrorOf(message);
    answer.explanation = ExplanationOf(message);
    return true;
  });
  return answer;
}

void Dump(nl_sock& socket, nl_msg& request, const std::string& what,
          const std::function<void(nlmsghdr&)>& take) {
  Exchange(socket, request, what, [&](nlmsghdr& message) {
    const bool ends = message.nlmsg_type == NLMSG_DONE || message.nlmsg_type == NLMSG_ERROR;
    if (!ends) {
      take(message);
    } else if (const int error = ErrorOf(message); error != 0) {
      ThrowErrno(error, what);
    }
    return ends;
  });
}

NlAnswer TransactBatch(nl_sock& socket, std::span<const NlMsgPtr> batch, const std::string& what) {
  DropUnread(socket);
  nl_socket_disable_auto_ack(&socket);
  nlmsghdr* last = nlmsg_hdr(batch[batch.size() - 2].get());
  last->nlmsg_flags |= NLM_F_ACK;
  std::vector<std::byte> bytes;
  for (const NlMsgPtr& message : batch) {
    nl_complete_msg(&socket, message.get());
    const nlmsghdr* header = nlmsg_hdr(message.get());
    const auto* begin = reinterpret_cast<const std::byte*>(header);
    bytes.insert(bytes.end(), begin, begin + NLMSG_ALIGN(header->nlmsg_len));
  }
  MakeRoom(socket, bytes.size(), what);
  CheckNl(nl_sendto(&socket, bytes.data(), bytes.size()), what);
  const auto buffer = std::make_unique_for_overwrite<Buffer>();
  while (true) {
    int left = Receive(socket, *buffer, what);
    auto* message = reinterpret_cast<nlmsghdr*>(buffer->data());
    for (; nlmsg_ok(message, left) != 0; message = nlmsg_next(message, &left)) {
      if (message->nlmsg_type != NLMSG_ERROR) continue;
      const int error = ErrorOf(*message);
      if (error != 0 || message->nlmsg_seq == last->nlmsg_seq)
        return {.error = error, .explanation = ExplanationOf(*message)};
    }
  }
}

void CheckAnswer(const NlAnswer& answer, const std::string& what) {
  if (answer.error == 0) return;
  const std::string detail = answer.explanation.empty() ? "" : " (" + answer.explanation + ")";
  ThrowErrno(answer.error, what + detail);
}

nl_msg& ObjectOf(const NlAnswer& answer, const std::string& what) {
  CheckAnswer(answer, what);
  if (!answer.object) ThrowErrno(EPROTO, what + ": the kernel's answer has no object");
  return *answer.object;
}

}  // namespace kuryr::binding
