#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kubelet/deviceplugin.pb.h"
#include "kubelet/message.h"
#include "kubelet/methods.h"
#include "kubelet/server_connection.h"
#include "tests/kubelet/fuzz/socket_pair.h"

namespace kuryr::kubelet {
namespace {

const Methods& AllMethods() {
  static const Methods methods = {
      .unary = {{kAllocate, Unary<v1beta1::AllocateRequest>([](const auto& request) {
                   v1beta1::AllocateResponse answer;
                   for (int n = 0; n < request.container_requests_size(); ++n)
                     answer.add_container_responses();
                   return answer;
                 })}},
      .streaming = {{kListAndWatch,
                     Streaming<v1beta1::Empty>([](const auto& /*request*/, const auto& stream) {
                       stream->Send("first");
                       stream->Send("second");
                       stream->Finish({StatusCode::kUnavailable, "stopping"});
                     })}}};
  return methods;
}

}  // namespace
}  // namespace kuryr::kubelet

/// Sends the input to a server; the first byte is the size of its pieces.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kuryr::kubelet;
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t piece = size_t{data[0]} * 16 + 1;
  text.remove_prefix(1);
  SocketPair sockets;
  PollSet poll;
  const ServerLimits limits = {
      .streams = 4, .message_bytes = 1024, .asked_bytes = 1536, .queued_bytes = 4096};
  ServerConnection connection(std::move(sockets.ours), 0, poll, AllMethods(), limits);
  bool open = true;
  while (open && !text.empty()) {
    sockets.TheySay(text.substr(0, piece));
    text.remove_prefix(std::min(piece, text.size()));
    open = connection.Advance();
  }
  (void)connection.Expire(ServerConnection::Clock::time_point::max());
  return 0;
}
