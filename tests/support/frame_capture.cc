#include "tests/support/frame_capture.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace kuryr::test {
namespace {

constexpr size_t kMostPayload = 128;
constexpr uint16_t kVlanIdBits = 0x0fff;

std::optional<uint16_t> VlanIdIn(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_PACKET || part->cmsg_type != PACKET_AUXDATA) continue;
    tpacket_auxdata data{};
    std::memcpy(&data, CMSG_DATA(part), sizeof data);
    if ((data.tp_status & TP_STATUS_VLAN_VALID) != 0) return data.tp_vlan_tci & kVlanIdBits;
  }
  return std::nullopt;
}

}  // namespace

FrameCapture::FrameCapture(const std::string& link)
    : socket_(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const int on = 1;
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(link.c_str()));
  if (!socket_ || address.sll_ifindex == 0 ||
      ::setsockopt(socket_.get(), SOL_PACKET, PACKET_AUXDATA, &on, sizeof on) != 0 ||
      ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ThrowErrno("capture the frames of " + link);
  }
}

std::vector<Frame> FrameCapture::Take() {
  std::vector<Frame> frames;
  for (;;) {
    ethhdr header{};
    std::array<uint8_t, kMostPayload> payload{};
    sockaddr_ll address{};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(tpacket_auxdata))> control{};
    std::array<iovec, 2> buffers = {{{.iov_base = &header, .iov_len = sizeof header},
                                     {.iov_base = payload.data(), .iov_len = payload.size()}}};
    msghdr message{.msg_name = &address,
                   .msg_namelen = sizeof address,
                   .msg_iov = buffers.data(),
                   .msg_iovlen = buffers.size(),
                   .msg_control = control.data(),
                   .msg_controllen = control.size()};
    const ssize_t size = ::recvmsg(socket_.get(), &message, 0);
    if (size < 0) {
      if (errno == EAGAIN) return frames;
      ThrowErrno("receive captured frames");
    }
    Frame frame{.outgoing = address.sll_pkttype == PACKET_OUTGOING,
                .vlan_id = VlanIdIn(message),
                .protocol = ntohs(header.h_proto)};
    const auto rest = std::max(static_cast<size_t>(size), sizeof header) - sizeof header;
    frame.payload.assign(payload.begin(), payload.begin() + static_cast<long>(rest));
    std::copy_n(header.h_dest, frame.destination.bytes.size(), frame.destination.bytes.begin());
    std::copy_n(header.h_source, frame.source.bytes.size(), frame.source.bytes.begin());
    frames.push_back(std::move(frame));
  }
}

}  // namespace kuryr::test
