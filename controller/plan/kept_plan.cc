#include "controller/plan/kept_plan.h"

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/thread_annotations.h"

namespace kuryr::controller {
namespace {

using Vifs = std::vector<vif::PodVif>;

/// Calls `visit` with each field that tells a VIF from others of its network. A field that is
/// missing here costs memory: its VIFs have less in common.
template <typename Visit>
void VisitOwnFields(vif::PodVif& vif, Visit visit) {
  vif::VifBase& base = vif::Common(vif.vif);
  visit(base.id);
  if (base.port_profile.has_value()) {
    if (auto* profile = std::get_if<vif::PortProfileOpenVSwitch>(&*base.port_profile))
      visit(profile->interface_id);
  }
  visit(base.address);
  std::visit(
      [&]<typename Kind>(Kind& kind) {
        if constexpr (requires { kind.vif_name; }) visit(kind.vif_name);
        if constexpr (requires { kind.vlan_id; }) visit(kind.vlan_id);
      },
      vif.vif);
  if (!base.network.has_value() || !base.network->subnets.has_value()) return;
  if (!base.network->subnets->objects.has_value()) return;
  for (vif::Subnet& subnet : *base.network->subnets->objects) {
    if (!subnet.ips.has_value() || !subnet.ips->objects.has_value()) continue;
    for (vif::FixedIp& ip : *subnet.ips->objects) visit(ip.address);
  }
}

/// Writes values in the machine's byte order. A text is written as its length and its bytes, and as
/// kAgain if it equals the text before.
class OwnWriter {
 public:
  static constexpr uint32_t kAgain = UINT32_MAX;

  void Put(const std::string& text) {
    if (last_ == text) return PutNumber(kAgain);
    PutNumber(static_cast<uint32_t>(text.size()));
    bytes_ += text;
    last_ = text;
  }
  void Put(const MacAddress& mac) { PutNumber(mac.bytes); }
  void Put(uint16_t number) { PutNumber(number); }
  void Put(const IpAddress& address) {
    PutNumber(address.family);
    bytes_.append(reinterpret_cast<const char*>(address.bytes.data()), address.size());
  }

  [[nodiscard]] std::string bytes() && {
    bytes_.shrink_to_fit();
    return std::move(bytes_);
  }

 private:
  template <typename Number>
  void PutNumber(const Number& number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }

  std::string bytes_;
  std::string last_;
};

/// Reads what OwnWriter wrote.
class OwnReader {
 public:
  explicit OwnReader(std::string_view bytes) : rest_(bytes) {}

  void Take(std::string& text) {
    uint32_t size = 0;
    TakeBytes(&size, sizeof size);
    if (size != OwnWriter::kAgain) {
      last_ = rest_.substr(0, size);
      rest_.remove_prefix(size);
    }
    text = last_;
  }
  void Take(MacAddress& mac) { TakeBytes(&mac.bytes, sizeof mac.bytes); }
  void Take(uint16_t& number) { TakeBytes(&number, sizeof number); }
  void Take(IpAddress& address) {
    TakeBytes(&address.family, sizeof address.family);
    TakeBytes(address.bytes.data(), address.size());
  }

 private:
  void TakeBytes(void* to, size_t size) {
    rest_.copy(static_cast<char*>(to), size);
    rest_.remove_prefix(size);
  }

  std::string_view rest_;
  std::string_view last_;
};

std::string TakeOwn(Vifs& vifs) {
  OwnWriter writer;
  for (vif::PodVif& vif : vifs) {
    VisitOwnFields(vif, [&](auto& field) {
      if (!field.has_value()) return;
      writer.Put(*field);
      *field = {};
    });
  }
  return std::move(writer).bytes();
}

/// VIFs of one network are alike.
std::string NetworksOf(const Vifs& vifs) {
  std::string key;
  for (const vif::PodVif& vif : vifs) {
    const vif::VifBase& base = vif::Common(vif.vif);
    key += vif.ifname;
    key += vif::IsActive(vif) ? "+" : "-";
    if (!base.network.has_value()) continue;
    key += base.network->id.value_or("");
    if (!base.network->subnets.has_value()) continue;
    for (const vif::Subnet& subnet : *base.network->subnets)
      key += "/" + subnet.cidr.value_or(IpNetwork()).ToString();
  }
  return key;
}

/// The common parts that plans have now. Thread-safe.
class CommonParts {
 public:
  /// The equal part that another plan has, or this one.
  std::shared_ptr<const Vifs> Share(Vifs vifs) {
    const std::string key = NetworksOf(vifs);
    const MutexLock lock(mutex_);
    std::weak_ptr<const Vifs>& known = known_[key];
    auto shared = known.lock();
    if (shared && *shared == vifs) return shared;
    shared = std::make_unique<const Vifs>(std::move(vifs));
    known = shared;
    if (known_.size() > most_) DropUnused();
    return shared;
  }

 private:
  void DropUnused() REQUIRES(mutex_) {
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    most_ = kLeast + 2 * known_.size();
  }

  static constexpr size_t kLeast = 64;
  Mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const Vifs>> known_ GUARDED_BY(mutex_);
  size_t most_ GUARDED_BY(mutex_) = kLeast;
};

CommonParts& AllCommonParts() {
  static CommonParts parts;
  return parts;
}

}  // namespace

KeptPlan::KeptPlan(std::vector<vif::PodVif> vifs) {
  if (vifs.empty()) return;
  own_ = TakeOwn(vifs);
  common_ = AllCommonParts().Share(std::move(vifs));
}

std::vector<vif::PodVif> KeptPlan::vifs() const {
  if (!common_) return {};
  Vifs vifs = *common_;
  OwnReader reader(own_);
  for (vif::PodVif& vif : vifs) {
    VisitOwnFields(vif, [&](auto& field) {
      if (field.has_value()) reader.Take(*field);
    });
  }
  return vifs;
}

}  // namespace kuryr::controller
