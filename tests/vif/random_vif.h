#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "vif/schema.h"
#include "vif/vif.h"

namespace kuryr::vif {

/// The values to make: all that this project accepts, or those that os-vif 3.0 can read.
enum class Dialect { kOurs, kOsVif3 };

/// Makes random valid values of every class by walking its description, so that a new field is
/// covered at once.
class RandomValues {
 public:
  RandomValues(uint64_t seed, Dialect dialect) : engine_(seed), dialect_(dialect) {}

  template <VersionedObject T>
  T Object() {
    T object;
    Fill(object);
    return object;
  }

  /// A VIF of the kind at `index` of Vif's alternatives.
  template <size_t I = 0>
  Vif VifOfKind(size_t index) {
    if constexpr (I < std::variant_size_v<Vif>) {
      if (index == I) return Object<std::variant_alternative_t<I, Vif>>();
      return VifOfKind<I + 1>(index);
    } else {
      std::abort();
    }
  }

  size_t Below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(engine_); }
  bool OneIn(size_t n) { return Below(n) == 0; }

 private:
  void Fill(std::string& out, const Rule& rule) { out = Text(rule); }
  void Fill(bool& out, const Rule& /*rule*/) { out = OneIn(2); }
  void Fill(IpAddress& out, const Rule& /*rule*/) {
    out.family = OneIn(2) ? IpFamily::kIpv4 : IpFamily::kIpv6;
    for (size_t i = 0; i < out.size(); ++i) out.bytes[i] = OneIn(2) ? uint8_t{0} : Byte();
    if (out.family == IpFamily::kIpv6 && OneIn(8)) {
      for (size_t i = 0; i < 12; ++i) out.bytes[i] = i >= 10 && OneIn(2) ? 0xff : 0;
    }
  }
  void Fill(IpNetwork& out, const Rule& rule) {
    Fill(out.address, rule);
    out.prefix_length = static_cast<uint8_t>(Below(out.address.size() * 8 + 1));
  }
  void Fill(MacAddress& out, const Rule& /*rule*/) {
    for (uint8_t& byte : out.bytes) byte = Byte();
  }
  void Fill(PciAddress& out, const Rule& /*rule*/) {
    out = {.domain = static_cast<uint16_t>(Below(0x10000)),
           .bus = Byte(),
           .slot = static_cast<uint8_t>(Below(0x20)),
           .function = static_cast<uint8_t>(Below(8))};
  }
  template <typename T>
    requires std::is_enum_v<T>
  void Fill(T& out, const Rule& /*rule*/) {
    out = static_cast<T>(Below(kEnumTexts<T>.size()));
  }
  template <std::integral T>
  void Fill(T& out, const Rule& rule) {
    if (rule.number == nullptr) {
      out = static_cast<T>(std::uniform_int_distribution<int64_t>(INT64_MIN, INT64_MAX)(engine_));
      return;
    }
    do {
      out = static_cast<T>(OneIn(8) ? 0 : Below(rule.number == kMtu.number ? 65536 : 4095));
    } while (!rule.number(static_cast<int64_t>(out)));
  }
  template <typename T>
  void Fill(std::vector<T>& out, const Rule& rule) {
    out.resize(Below(4));
    for (T& element : out) {
      if constexpr (VersionedObject<T>) {
        Fill(element);
      } else {
        Fill(element, rule);
      }
    }
  }
  void Fill(std::map<std::string, Vif>& out, const Rule& rule) {
    for (size_t i = Below(4); i > 0; --i) Fill(out[Text(kInterfaceName)], rule);
  }
  template <typename... Classes>
  void Fill(std::variant<Classes...>& out, const Rule& /*rule*/) {
    const size_t chosen = Below(sizeof...(Classes));
    size_t i = 0;
    ((i++ == chosen ? Fill(out.template emplace<Classes>()) : void()), ...);
  }
  template <VersionedObject T>
  void Fill(T& out, const Rule& /*rule*/) {
    Fill(out);
  }
  template <VersionedObject T>
  void Fill(T& out) {
    std::apply([&](const auto&... members) { (OneField(out, members), ...); }, Schema<T>::kFields);
    // No library writes a list without elements: os-vif sets them at construction.
    if constexpr (kIsList<T>) {
      if (!out.objects.has_value()) out.objects.emplace();
    }
    out.envelope.version = Schema<T>::kVersion;
    if (dialect_ == Dialect::kOurs) Decorate(out.envelope);
  }

  template <typename T, typename Class, typename Value>
  void OneField(T& object, const Member<Class, Value>& member) {
    Field<Value>& field = object.*member.field;
    const bool os_vif_3 = dialect_ == Dialect::kOsVif3;
    const bool only_ours = !member.rule.since.empty() || member.name == "fixed_ips";
    if (OneIn(5) || (os_vif_3 && only_ours)) {
      // On decoding, os-vif sets fields that its constructor sets.
      if (!os_vif_3) field.reset();
      return;
    }
    const bool null_is_ours = member.name == "gateway" || member.name == "port_profile";
    if (member.rule.nullable && OneIn(5) && !(os_vif_3 && null_is_ours)) {
      field = Null{};
      return;
    }
    Fill(field.emplace(), member.rule);
  }

  void Decorate(Envelope& envelope) {
    if (OneIn(4)) envelope.version = "1." + std::to_string(Below(100));
    if (OneIn(3)) envelope.changes = {"id", Text(kAny)};
    if (OneIn(6)) envelope.unknown_fields = {{"future_field", R"({"a":[1,null,2.5,"x"]})"}};
    if (OneIn(6)) envelope.unknown_members = {{"versioned_object.future", "[]"}};
  }

  uint8_t Byte() { return static_cast<uint8_t>(Below(256)); }
  std::string From(std::string_view alphabet, size_t length) {
    std::string text;
    for (size_t i = 0; i < length; ++i) text += alphabet[Below(alphabet.size())];
    return text;
  }
  std::string Text(const Rule& rule) {
    constexpr std::string_view kHex = "0123456789abcdef";
    constexpr std::string_view kName = "abcdefghijklmnopqrstuvwxyzABC0123456789-_.@!\"\\'";
    if (rule.text == kUuid.text) {
      return From(kHex, 8) + "-" + From(kHex, 4) + "-" + From(kHex, 4) + "-" + From(kHex, 4) + "-" +
             From(kHex, 12);
    }
    if (rule.text == nullptr) {
      static const std::vector<std::string> kPieces = {
          "a", "7",  "-", " ",    "\"",   "\\",  "\u00e9",    "\u4e2d",
          "/", "\n", "{", "\x7f", "\x01", "net", "\U0001f600"};
      std::string text;
      for (size_t i = Below(12); i > 0; --i) text += kPieces[Below(kPieces.size())];
      return text;
    }
    if (rule.text == kPciAddressText.text) {
      PciAddress address;
      Fill(address, kAny);
      return OneIn(3) ? "" : address.ToString();
    }
    if (rule.text != kInterfaceName.text && OneIn(3)) return "";
    return "p" + From(kName, Below(15));
  }

  std::mt19937_64 engine_;
  Dialect dialect_;
};

}  // namespace kuryr::vif
