// The kernel's words on a netlink socket.
#include <linux/netlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <system_error>

#include "base/ip.h"
#include "binding/netlink/link_message.h"
#include "binding/netlink/listeners.h"
#include "binding/netlink/nft_batch.h"
#include "binding/netlink/nft_query.h"
#include "binding/netlink/route_socket.h"

namespace {

/// Datagrams yet to come: two bytes of size, little-endian, and the messages.
std::string_view script;
uint32_t sequence = 0;

/// The kernel's answers bear the number of the request.
void Number(void* bytes, int left) {
  auto* message = static_cast<nlmsghdr*>(bytes);
  for (; nlmsg_ok(message, left) != 0; message = nlmsg_next(message, &left))
    message->nlmsg_seq = sequence;
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
int __wrap_nl_send_auto(nl_sock* socket, nl_msg* message) {
  nl_complete_msg(socket, message);
  sequence = nlmsg_hdr(message)->nlmsg_seq;
  return 1;
}

ssize_t __wrap_recvfrom(int /*fd*/, void* bytes, size_t size, int /*flags*/, sockaddr* sender,
                        socklen_t* /*length*/) {
  constexpr size_t kHeader = 2;
  if (script.size() < kHeader) {
    errno = EAGAIN;
    return -1;
  }
  const auto low = static_cast<uint8_t>(script[0]);
  const auto high = static_cast<uint8_t>(script[1]);
  script.remove_prefix(kHeader);
  const std::string_view datagram = script.substr(0, low + 256U * high);
  script.remove_prefix(datagram.size());
  const size_t count = std::min(size, datagram.size());
  std::memcpy(bytes, datagram.data(), count);
  Number(bytes, static_cast<int>(count));
  const sockaddr_nl kernel{.nl_family = AF_NETLINK};
  std::memcpy(sender, &kernel, sizeof kernel);
  return static_cast<ssize_t>(datagram.size());
}
// NOLINTEND(bugprone-reserved-identifier)
}

namespace kuryr::binding {
namespace {

void Ask(RouteSocket& host, uint8_t what) {
  const Link link = {.index = 2, .name = "eth0"};
  switch (what % 9) {
    case 0:
      return void(host.FindLink("eth0"));
    case 1:
      return void(host.AddressesOf(link));
    case 2:
      return void(host.FindLinkWith(IpAddress::Parse("192.0.2.1").value()));
    case 3:
      return void(host.Routes());
    case 4:
      return void(host.FindOutputLink(IpAddress::Parse("2001:db8::1").value()));
    case 5:
      return void(host.FindVf(link, 3));
    case 6:
      return void(FindListeners(10250));
    case 7:
      return void(RulesetGeneration("fuzz"));
    default:
      return host.AddAddress(link, IpNetwork::Parse("192.0.2.1/24").value());
  }
}

}  // namespace
}  // namespace kuryr::binding

/// The first byte is what is asked, the rest the kernel's answers.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static kuryr::binding::RouteSocket host;
  if (size == 0) return 0;
  script = {reinterpret_cast<const char*>(data) + 1, size - 1};
  try {
    kuryr::binding::Ask(host, data[0]);
  } catch (const std::system_error&) {
  }
  return 0;
}
