#include "binding/netlink/nl_transaction.h"

#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/error.h"
#include "binding/netlink/nl_error.h"

namespace kuryr::binding {
namespace {

// One link with every attribute but its statistics is below 4 KiB, an acknowledgement far less; the
// list of a physical function's 256 virtual ones may have all that an attribute can hold, 64 KiB.
using Buffer = std::array<std::byte, 131072>;

int Receive(nl_sock& socket, Buffer& buffer, const std::string& what) {
  ssize_t length = 0;
  do {
    length = ::recv(nl_socket_get_fd(&socket), buffer.data(), buffer.size(), MSG_TRUNC);
  } while (length < 0 && errno == EINTR);
  if (length < 0) ThrowErrno(what + ": receive the answer");
  if (static_cast<size_t>(length) > buffer.size()) ThrowErrno(EMSGSIZE, what);
  return static_cast<int>(length);
}

std::string ExplanationOf(nlmsghdr& message) {
  if ((message.nlmsg_flags & NLM_F_ACK_TLVS) == 0) return {};
  std::array<nlattr*, NLMSGERR_ATTR_MAX + 1> attributes{};
  if (nlmsg_parse(&message, sizeof(nlmsgerr), attributes.data(), NLMSGERR_ATTR_MAX, nullptr) < 0)
    return {};
  const nlattr* text = attributes[NLMSGERR_ATTR_MSG];
  if (text == nullptr) return {};
  const char* data = static_cast<const char*>(nla_data(text));
  return {data, ::strnlen(data, static_cast<size_t>(nla_len(text)))};
}

int ErrorOf(nlmsghdr& message) {
  return -static_cast<const nlmsgerr*>(nlmsg_data(&message))->error;
}

/// Hands the messages that answer `request` to `take`, until that returns true.
void Exchange(nl_sock& socket, nl_msg& request, const std::string& what,
              const std::function<bool(nlmsghdr&)>& take) {
  CheckNl(nl_send_auto(&socket, &request), what);
  const uint32_t sequence = nlmsg_hdr(&request)->nlmsg_seq;
  alignas(nlmsghdr) Buffer buffer;
  while (true) {
    int left = Receive(socket, buffer, what);
    auto* message = reinterpret_cast<nlmsghdr*>(buffer.data());
    for (; nlmsg_ok(message, left) != 0; message = nlmsg_next(message, &left)) {
      // An earlier request on this socket may have ended in an exception before its answer.
      if (message->nlmsg_seq == sequence && take(*message)) return;
    }
  }
}

}  // namespace

NlSocketPtr OpenRouteSocket() {
  NlSocketPtr socket = Owned<NlSocketPtr>(nl_socket_alloc());
  CheckNl(nl_connect(socket.get(), NETLINK_ROUTE), "open a route socket");
  // Where the kernel knows neither option, errors come without the explanation.
  const int on = 1;
  const int fd = nl_socket_get_fd(socket.get());
  ::setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
  ::setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
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
    if (message.nlmsg_type == NLMSG_DONE) return true;
    if (message.nlmsg_type == NLMSG_ERROR) ThrowErrno(ErrorOf(message), what);
    take(message);
    return false;
  });
}

void CheckAnswer(const NlAnswer& answer, const std::string& what) {
  if (answer.error == 0) return;
  const std::string detail = answer.explanation.empty() ? "" : " (" + answer.explanation + ")";
  ThrowErrno(answer.error, what + detail);
}

}  // namespace kuryr::binding
