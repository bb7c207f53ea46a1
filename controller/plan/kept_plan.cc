#include "controller/plan/kept_plan.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <variant>

namespace kuryr::controller {
namespace {

/// Writes numbers in the machine's byte order, and texts of at most 65,535 bytes with their length.
class KeptWriter {
 public:
  template <typename Number>
  void Put(Number number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void PutText(const std::string& text) {
    const auto size = std::min<size_t>(text.size(), std::numeric_limits<uint16_t>::max());
    Put(static_cast<uint16_t>(size));
    bytes_.append(text, 0, size);
  }

  [[nodiscard]] std::string bytes() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads the bytes of KeptWriter.
class KeptReader {
 public:
  explicit KeptReader(const std::string& bytes) : rest_(bytes) {}

  template <typename Number>
  Number Take() {
    Number number{};
    rest_.copy(reinterpret_cast<char*>(&number), sizeof number);
    rest_.remove_prefix(sizeof number);
    return number;
  }
  std::string TakeText() {
    const size_t size = Take<uint16_t>();
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// Whether the profile names the VIF's port, as those of Neutron do.
bool NamesPort(const vif::VifBase& common) {
  if (!common.port_profile.has_value()) return false;
  const auto* profile = std::get_if<vif::PortProfileOpenVSwitch>(&*common.port_profile);
  return profile != nullptr && profile->interface_id == common.id;
}

uint16_t VlanOf(const vif::Vif& vif) {
  const auto* nested = std::get_if<vif::VifVlanNested>(&vif);
  return nested == nullptr ? 0 : nested->vlan_id.value_or(0);
}

void Put(const vif::PodVif& vif, KeptWriter& writer) {
  const vif::VifBase& common = vif::Common(vif.vif);
  writer.Put(static_cast<uint8_t>(vif.vif.index()));
  writer.PutText(vif.ifname);
  writer.Put(vif.is_default);
  writer.PutText(common.id.value_or(""));
  writer.PutText(common.plugin.value_or(""));
  writer.Put(common.address.value_or(MacAddress()).bytes);
  writer.Put(NamesPort(common));
  writer.Put(VlanOf(vif.vif));
  writer.PutText(common.network.has_value() ? common.network->id.value_or("") : "");
  const std::vector<IpNetwork> addresses = vif::AddressesOf(common);
  writer.Put(static_cast<uint16_t>(addresses.size()));
  for (const IpNetwork& ip : addresses) {
    writer.Put(ip.address.family);
    for (size_t i = 0; i < ip.address.size(); ++i) writer.Put(ip.address.bytes.at(i));
  }
}

template <size_t... kIndex>
vif::Vif VifOfKind(size_t kind, std::index_sequence<kIndex...> /*all*/) {
  vif::Vif vif;
  const auto make = [&]<size_t kOne>() {
    if (kOne == kind) vif.emplace<kOne>();
  };
  (make.template operator()<kIndex>(), ...);
  return vif;
}

vif::Subnet TakeSubnet(KeptReader& reader) {
  std::vector<vif::FixedIp> ips(reader.Take<uint16_t>());
  for (vif::FixedIp& ip : ips) {
    IpAddress address{.family = reader.Take<IpFamily>()};
    for (size_t i = 0; i < address.size(); ++i) address.bytes.at(i) = reader.Take<uint8_t>();
    ip.address = address;
  }
  vif::Subnet subnet;
  subnet.ips = vif::FixedIpList{.objects = std::move(ips)};
  return subnet;
}

vif::PodVif TakeVif(KeptReader& reader) {
  vif::PodVif vif;
  vif.vif =
      VifOfKind(reader.Take<uint8_t>(), std::make_index_sequence<std::variant_size_v<vif::Vif>>());
  vif::VifBase& common = vif::Common(vif.vif);
  vif.ifname = reader.TakeText();
  vif.is_default = reader.Take<bool>();
  common.id = reader.TakeText();
  common.plugin = reader.TakeText();
  common.address = MacAddress{.bytes = reader.Take<std::array<uint8_t, 6>>()};
  common.active = true;
  if (reader.Take<bool>()) {
    vif::PortProfileOpenVSwitch profile;
    profile.interface_id = *common.id;
    common.port_profile = vif::PortProfile(std::move(profile));
  }
  const auto vlan = reader.Take<uint16_t>();
  if (auto* nested = std::get_if<vif::VifVlanNested>(&vif.vif); nested != nullptr && vlan != 0)
    nested->vlan_id = vlan;
  vif::Network network;
  network.id = reader.TakeText();
  network.subnets->objects->push_back(TakeSubnet(reader));
  common.network = std::move(network);
  return vif;
}

}  // namespace

KeptPlan::KeptPlan(const std::vector<vif::PodVif>& vifs) {
  if (!std::all_of(vifs.begin(), vifs.end(), vif::IsActive)) {
    whole_ = std::make_shared<const std::vector<vif::PodVif>>(vifs);
    return;
  }
  KeptWriter writer;
  for (const vif::PodVif& vif : vifs) Put(vif, writer);
  reduced_ = std::move(writer).bytes();
  reduced_.shrink_to_fit();
}

std::vector<vif::PodVif> KeptPlan::vifs() const {
  if (whole_) return *whole_;
  std::vector<vif::PodVif> vifs;
  KeptReader reader(reduced_);
  while (!reader.at_end()) vifs.push_back(TakeVif(reader));
  return vifs;
}

}  // namespace kuryr::controller
