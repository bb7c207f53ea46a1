#include "binding/ovs/openflow_message.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

namespace kuryr::binding::openflow {
namespace {

enum class Command : uint8_t { kAdd = 0, kDelete = 3 };

constexpr uint8_t kVersion = 4;
constexpr uint32_t kAny = 0xffffffff;
/// Open vSwitch's own fields and actions (ovs-fields(7), ovs-actions(7)).
constexpr uint16_t kNiciraClass = 1;
constexpr uint32_t kNicira = 0x2320;
/// A register that neither Neutron's agent nor NORMAL uses: 1 where a flow has passed the packet.
constexpr uint8_t kPassedRegister = 8;

/// Not by insert(), whose copy g++ 14 takes for an overflow.
void PutBytes(Bytes& to, std::span<const uint8_t> bytes) {
  std::copy(bytes.begin(), bytes.end(), std::back_inserter(to));
}

void PadTo8(Bytes& bytes) { bytes.resize((bytes.size() + 7) / 8 * 8); }

void PutMatch(Bytes& to, const FlowMatch& match) {
  constexpr uint16_t kExtensible = 1;
  Put(to, kExtensible);
  Put(to, static_cast<uint16_t>(4 + match.fields().size()));
  PutBytes(to, match.fields());
  PadTo8(to);
}

/// Notes in the register that the packet has passed, and looks it up in table 0 once more.
Bytes PassingActions() {
  constexpr uint16_t kSetField = 25;
  constexpr uint16_t kVendor = 0xffff;
  constexpr uint16_t kResubmitTable = 14;
  constexpr uint16_t kSamePort = 0xfff8;
  Bytes actions;
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

Bytes FlowChange(Command command, uint64_t cookie, uint64_t mask, const Flow& flow) {
  constexpr uint16_t kApplyActions = 4;
  Bytes body;
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
    const Bytes actions = PassingActions();
    Put(body, kApplyActions);
    Put(body, static_cast<uint16_t>(8 + actions.size()));
    Put(body, uint32_t{0});
    PutBytes(body, actions);
  }
  return Message(kFlowMod, body);
}

std::span<const uint8_t> Part(std::span<const uint8_t> bytes, size_t offset, size_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset)
    throw std::out_of_range("a message of OpenFlow is too short");
  return bytes.subspan(offset, size);
}

/// The port in the fields of a match; 0 where it names none.
uint32_t InPortIn(std::span<const uint8_t> fields) {
  constexpr uint32_t kInPort = 0x80000004;  // class, field and size
  constexpr size_t kFieldHeader = 4;
  while (fields.size() >= kFieldHeader) {
    const size_t size = kFieldHeader + NumberAt(fields, 3, 1);
    if (NumberAt(fields, 0, kFieldHeader) == kInPort)
      return static_cast<uint32_t>(NumberAt(fields, kFieldHeader, 4));
    fields = fields.subspan(Part(fields, 0, size).size());
  }
  return 0;
}

}  // namespace

uint64_t NumberAt(std::span<const uint8_t> bytes, size_t offset, size_t size) {
  uint64_t number = 0;
  for (const uint8_t byte : Part(bytes, offset, size)) number = number << 8 | byte;
  return number;
}

void PutField(Bytes& to, uint16_t of_class, uint8_t field, std::span<const uint8_t> value) {
  Put(to, of_class);
  Put(to, static_cast<uint8_t>(field << 1));
  Put(to, static_cast<uint8_t>(value.size()));
  PutBytes(to, value);
}

void PutPassed(Bytes& to, uint8_t value) {
  PutField(to, kNiciraClass, kPassedRegister, std::array<uint8_t, 4>{0, 0, 0, value});
}

Bytes Message(uint8_t type, const Bytes& body) {
  Bytes message = {kVersion, type};
  Put(message, static_cast<uint16_t>(kHeaderSize + body.size()));
  Put(message, uint32_t{0});
  PutBytes(message, body);
  return message;
}

Bytes Hello() {
  Bytes versions;
  Put(versions, uint16_t{1});
  Put(versions, uint16_t{8});
  Put(versions, uint32_t{1} << kVersion);
  return Message(kHello, versions);
}

Bytes Addition(uint64_t cookie, const Flow& flow) {
  return FlowChange(Command::kAdd, cookie, 0, flow);
}

Bytes Deletion(uint64_t cookie, uint64_t mask, const FlowMatch& match) {
  return FlowChange(Command::kDelete, cookie, mask, {.match = match});
}

Bytes Ask(Question question, uint64_t cookie, uint64_t mask, const FlowMatch& match) {
  Bytes body;
  Put(body, static_cast<uint16_t>(question));
  Put(body, uint16_t{0});
  Put(body, uint32_t{0});
  Put(body, uint32_t{0});  // the table
  Put(body, kAny);
  Put(body, kAny);
  Put(body, uint32_t{0});
  Put(body, cookie);
  Put(body, mask);
  PutMatch(body, match);
  return Message(kMultipartRequest, body);
}

uint32_t CountIn(std::span<const uint8_t> reply) {
  constexpr size_t kFlowCount = 32;
  return static_cast<uint32_t>(NumberAt(reply, kFlowCount, 4));
}

void AddFlowsIn(std::span<const uint8_t> reply, std::vector<PresentFlow>& flows) {
  constexpr size_t kMultipartHeader = 16;
  constexpr size_t kCookie = 24;
  constexpr size_t kMatch = 48;
  constexpr size_t kMatchHeader = 4;
  for (size_t at = kMultipartHeader; at < reply.size();) {
    const auto entry = Part(reply, at, NumberAt(reply, at, 2));
    const size_t match_size = NumberAt(entry, kMatch + 2, 2);
    if (match_size < kMatchHeader) throw std::out_of_range("a flow of OpenFlow without a match");
    flows.push_back(
        {.cookie = NumberAt(entry, kCookie, 8),
         .in_port = InPortIn(Part(entry, kMatch + kMatchHeader, match_size - kMatchHeader))});
    at += entry.size();
  }
}

bool HasMore(std::span<const uint8_t> reply) {
  constexpr size_t kFlags = 10;
  return (NumberAt(reply, kFlags, 2) & 1) != 0;
}

}  // namespace kuryr::binding::openflow
