#include "binding/ovs/flow.h"

#include "binding/ovs/openflow_message.h"

namespace kuryr::binding {
namespace {

constexpr uint16_t kBasicClass = 0x8000;

}  // namespace

FlowMatch FlowMatch::With(FlowField field, std::span<const uint8_t> value) const {
  FlowMatch match = *this;
  openflow::PutField(match.fields_, kBasicClass, static_cast<uint8_t>(field), value);
  return match;
}

FlowMatch FlowMatch::InPort(uint32_t port) const {
  std::vector<uint8_t> value;
  openflow::Put(value, port);
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
  openflow::Put(bytes, value);
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
  openflow::PutPassed(match.fields_, 0);
  return match;
}

}  // namespace kuryr::binding
