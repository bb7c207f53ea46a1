#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "kubelet/unary_call.h"
#include "tests/kubelet/fuzz/socket_pair.h"

/// Answers a call with the input; the first byte is the size of its pieces.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kuryr::kubelet;
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t piece = size_t{data[0]} * 16 + 1;
  text.remove_prefix(1);
  SocketPair sockets;
  constexpr size_t kMost = 1024;
  UnaryCall call(std::move(sockets.ours),
                 {.socket = "/kubelet.sock", .method = "/a/B", .message = "", .most_bytes = kMost},
                 kuryr::Deadline());
  bool over = false;
  while (!over && !text.empty()) {
    sockets.TheySay(text.substr(0, piece));
    text.remove_prefix(std::min(piece, text.size()));
    over = call.Advance();
  }
  sockets.theirs.reset();
  Require(call.Advance());
  try {
    Require(call.TakeAnswer().size() <= kMost);
  } catch (const CallError& e) {
    for (const char* c = e.what(); *c != '\0'; ++c) Require(*c >= 0x20 && *c < 0x7f);
  }
  return 0;
}
