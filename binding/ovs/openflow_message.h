#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "binding/ovs/flow.h"

/// Messages of OpenFlow 1.3, which every bridge speaks whose column "protocols" is empty. Numbers
/// are big-endian.
namespace kuryr::binding::openflow {

using Bytes = std::vector<uint8_t>;

constexpr size_t kHeaderSize = 8;

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
void Put(Bytes& to, Number number) {
  for (size_t i = sizeof number; i-- > 0;)
    to.push_back(static_cast<uint8_t>(uint64_t{number} >> (8 * i)));
}

/// The number of `size` bytes. Throws std::out_of_range past the end.
[[nodiscard]] uint64_t NumberAt(std::span<const uint8_t> bytes, size_t offset, size_t size);

void PutField(Bytes& to, uint16_t of_class, uint8_t field, std::span<const uint8_t> value);
/// The register that says whether a flow has passed the packet.
void PutPassed(Bytes& to, uint8_t value);

/// A whole message. Its id is 0.
[[nodiscard]] Bytes Message(uint8_t type, const Bytes& body);
[[nodiscard]] Bytes Hello();
/// Adds a flow, in the place of one with its priority and match.
[[nodiscard]] Bytes Addition(uint64_t cookie, const Flow& flow);
/// Deletes the flows of table 0 that have `match` and these bits of the cookie.
[[nodiscard]] Bytes Deletion(uint64_t cookie, uint64_t mask, const FlowMatch& match);

/// Questions about flows of table 0, by their numbers in OpenFlow 1.3 (7.3.5).
enum class Question : uint16_t { kFlows = 1, kCount = 2 };

[[nodiscard]] Bytes Ask(Question question, uint64_t cookie, uint64_t mask, const FlowMatch& match);
[[nodiscard]] uint32_t CountIn(std::span<const uint8_t> reply);
/// Adds the flows in a reply to kFlows. Throws std::out_of_range for a malformed one.
void AddFlowsIn(std::span<const uint8_t> reply, std::vector<PresentFlow>& flows);
/// Whether another reply to the question follows.
[[nodiscard]] bool HasMore(std::span<const uint8_t> reply);

}  // namespace kuryr::binding::openflow
