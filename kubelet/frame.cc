#include "kubelet/frame.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kubelet/status.h"

namespace kuryr::kubelet {
namespace {

constexpr size_t kHeaderSize = 5;

uint32_t LengthIn(std::string_view header) {
  uint32_t length = 0;
  for (const char c : header.substr(1, 4)) length = length << 8 | static_cast<unsigned char>(c);
  return length;
}

}  // namespace

std::string Frame(std::string_view message) {
  std::string out(1, '\0');
  out.reserve(kHeaderSize + message.size());
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(static_cast<uint32_t>(message.size()) >> shift & 0xff);
  return out.append(message);
}

void FrameReader::Add(std::string_view bytes) {
  if (!size_) {
    const size_t missing = kHeaderSize - bytes_.size();
    bytes_.append(bytes.substr(0, missing));
    bytes.remove_prefix(std::min(missing, bytes.size()));
    if (bytes_.size() < kHeaderSize) return;
    CheckHeader();
    size_ = LengthIn(bytes_);
  }
  bytes_.append(bytes);
  if (bytes_.size() > kHeaderSize + *size_)
    throw CallError({StatusCode::kInternal, "more than one message"});
}

void FrameReader::CheckHeader() const {
  if (bytes_.front() != 0)
    throw CallError({StatusCode::kUnimplemented, "a compressed message, and none was asked for"});
  if (LengthIn(bytes_) > most_bytes_) {
    throw CallError({StatusCode::kResourceExhausted,
                     "a message of " + std::to_string(LengthIn(bytes_)) + " bytes, at most " +
                         std::to_string(most_bytes_) + " are taken"});
  }
}

std::string FrameReader::Take() {
  if (!size_ || bytes_.size() < kHeaderSize + *size_)
    throw CallError({StatusCode::kInternal, bytes_.empty() ? "no message" : "half a message"});
  bytes_.erase(0, kHeaderSize);
  return std::move(bytes_);
}

}  // namespace kuryr::kubelet
