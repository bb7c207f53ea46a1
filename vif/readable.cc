#include "vif/readable.h"

#include <string>
#include <string_view>
#include <tuple>

#include "base/error.h"
#include "vif/schema.h"

namespace kuryr::vif {
namespace {

constexpr size_t kStep = 2;
constexpr size_t kMaxText = 1000;

std::string Safe(const std::string& text) { return Printable(text, kMaxText); }

/// Writes one value behind its name: simple ones on the same line, objects below it.
class Writer {
 public:
  explicit Writer(size_t indent) : indent_(indent) {}

  template <VersionedObject T>
  void Object(const T& object) {
    Write(" " + std::string(Schema<T>::kName) + " " +
          (object.envelope.version.empty() ? std::string(Schema<T>::kVersion)
                                           : Safe(object.envelope.version)));
    indent_ += kStep;
    std::apply(
        [&](const auto&... members) { (OneField(members.name, object.*members.field), ...); },
        Schema<T>::kFields);
    Beside(object.envelope);
    indent_ -= kStep;
  }

  std::string Take() { return std::move(out_); }

 private:
  void Line(std::string_view name) { out_.append(indent_, ' ').append(name).append(":"); }
  /// Ends the line that Line() began.
  void Write(std::string_view text) { out_.append(text).append("\n"); }

  template <typename T>
  void OneField(std::string_view name, const Field<T>& field) {
    if (!field.is_set()) return;
    Line(name);
    if (field.is_null()) {
      Write(" null");
    } else {
      Value(*field);
    }
  }

  void Beside(const Envelope& envelope) {
    if (envelope.changes) {
      Line("changes");
      std::string names;
      for (const std::string& name : *envelope.changes) names += " " + Safe(name);
      Write(names);
    }
    for (const auto* unknown : {&envelope.unknown_fields, &envelope.unknown_members}) {
      for (const UnknownField& field : *unknown) {
        Line("unknown " + Safe(field.name));
        Write(" " + Safe(field.json));
      }
    }
  }

  void Value(const std::string& text) { Write(" \"" + Safe(text) + "\""); }
  void Value(bool value) { Write(value ? " true" : " false"); }
  template <std::integral T>
  void Value(T number) {
    Write(" " + std::to_string(number));
  }
  template <typename T>
    requires requires(const T& value) { value.ToString(); }
  void Value(const T& value) {
    Write(" " + value.ToString());
  }
  template <typename T>
    requires std::is_enum_v<T>
  void Value(T value) {
    Write(" " + std::string(kEnumTexts<T>.at(static_cast<size_t>(value))));
  }
  void Value(const std::vector<IpAddress>& addresses) {
    std::string text;
    for (const IpAddress& address : addresses) text += " " + address.ToString();
    Write(text.empty() ? " none" : text);
  }
  template <typename T>
  void Value(const List<T>& list) {
    Write(list.empty() ? " none" : "");
    indent_ += kStep;
    for (size_t i = 0; i < list.size(); ++i) {
      Line("[" + std::to_string(i) + "]");
      Object(list[i]);
    }
    Beside(list.envelope);
    indent_ -= kStep;
  }
  template <typename... Classes>
  void Value(const std::variant<Classes...>& object) {
    std::visit([this](const auto& known) { this->Object(known); }, object);
  }
  template <VersionedObject T>
  void Value(const T& object) {
    Object(object);
  }

  size_t indent_;
  std::string out_;
};

template <typename T>
std::string Lines(const T& object, size_t indent) {
  Writer writer(indent);
  writer.Object(object);
  // Object() continues the line of a name, and here there is none.
  return std::string(indent, ' ') + writer.Take().substr(1);
}

void AppendAddresses(const VifBase& vif, std::string& out) {
  if (!vif.network.has_value() || !vif.network->subnets.has_value()) return;
  for (const Subnet& subnet : *vif.network->subnets) {
    for (const IpNetwork& address : FixedIpsOf(vif, subnet)) {
      out += ", " + address.ToString();
      if (subnet.gateway.has_value()) out += " via " + subnet.gateway->ToString();
    }
    if (!subnet.routes.has_value()) continue;
    for (const Route& route : *subnet.routes) {
      if (!route.cidr.has_value()) continue;
      out += ", route " + route.cidr->ToString();
      if (route.gateway.has_value()) out += " via " + route.gateway->ToString();
    }
  }
}

struct KindFacts {
  std::string& out;

  template <typename T>
  void operator()(const T& vif) const {
    if constexpr (requires { vif.vif_name; }) Fact("host interface", vif.vif_name);
    if constexpr (requires { vif.bridge_name; }) Fact("bridge", vif.bridge_name);
    if constexpr (requires { vif.vlan_id; }) {
      if (vif.vlan_id.has_value()) out += ", VLAN " + std::to_string(*vif.vlan_id);
    }
    if constexpr (requires { vif.dev_address; }) {
      if (vif.dev_address.has_value()) out += ", PCI " + vif.dev_address->ToString();
    }
  }
  void Fact(const char* what, const Field<std::string>& text) const {
    if (text.has_value()) out.append(", ").append(what).append(" ").append(Safe(*text));
  }
};

}  // namespace

std::string Summary(const Vif& vif) {
  const VifBase& common = Common(vif);
  std::string out(ClassName(vif));
  if (common.active.has_value()) out += *common.active ? ", active" : ", not active";
  if (common.address.has_value()) out += ", " + common.address->ToString();
  AppendAddresses(common, out);
  if (const auto mtu = MtuOf(common)) out += ", MTU " + std::to_string(*mtu);
  std::visit(KindFacts{out}, vif);
  return out;
}

std::string Readable(const Vif& vif, size_t indent) {
  return std::visit([indent](const auto& known) { return Lines(known, indent); }, vif);
}
std::string Readable(const Network& network, size_t indent) { return Lines(network, indent); }
std::string Readable(const InstanceInfo& instance, size_t indent) {
  return Lines(instance, indent);
}

std::string Readable(const std::vector<PodVif>& vifs) {
  std::string out;
  for (const PodVif& vif : vifs) {
    out += Safe(vif.ifname) + (vif.is_default ? " (default): " : ": ") + Summary(vif.vif) + "\n";
    out += Readable(vif.vif, kStep);
  }
  return out;
}

}  // namespace kuryr::vif
