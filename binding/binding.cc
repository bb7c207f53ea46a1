#include "binding/binding.h"

#include <utility>
#include <variant>

#include "base/error.h"

namespace kuryr::binding {
namespace {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

/// A kind of VIF that is not named in here does not compile. Ovs: OvsDriver, const or not.
template <typename Ovs>
Ovs* DriverFor(const vif::Vif& vif, Ovs* ovs) {
  const auto unsupported = [&vif]() -> Ovs* {
    const std::string plugin = Common(vif).plugin.value_or("");
    throw UnsupportedVif(std::string(ClassName(vif)) + " (plugin \"" + Printable(plugin) +
                         "\") has no driver");
  };
  return std::visit(Overloaded{[&](const vif::VifOpenVSwitch&) -> Ovs* { return ovs; },
                               [&](const vif::VifGeneric&) -> Ovs* { return unsupported(); },
                               [&](const vif::VifBridge&) -> Ovs* { return unsupported(); },
                               [&](const vif::VifDirect&) -> Ovs* { return unsupported(); },
                               [&](const vif::VifSriov&) -> Ovs* { return unsupported(); },
                               [&](const vif::VifVHostUser&) -> Ovs* { return unsupported(); },
                               [&](const vif::VifHostDevice&) -> Ovs* { return unsupported(); },
                               [&](const vif::VifNestedDpdk&) -> Ovs* { return unsupported(); },
                               [&](const vif::VifDpdkNested&) -> Ovs* { return unsupported(); },
                               [&](const vif::VifVlanNested&) -> Ovs* { return unsupported(); },
                               [&](const vif::VifMacvlanNested&) -> Ovs* { return unsupported(); }},
                    vif);
}

}  // namespace

Binding::Binding(BindingConfig config) : ovs_(std::move(config)) {}

Plug Binding::Plan(const vif::Vif& vif, const std::string& ifname) const {
  return DriverFor(vif, &ovs_)->Plan(vif, ifname);
}

std::vector<Interface> Binding::Connect(const vif::Vif& vif, const Plug& plug,
                                        const Attachment& attachment, const Netns& pod,
                                        bool is_default, const Deadline& deadline) {
  return DriverFor(vif, &ovs_)->Connect(vif, plug, attachment, pod, is_default, deadline);
}

void Binding::Disconnect(const Plug& plug, const Attachment& attachment, const Deadline& deadline) {
  if (plug.driver != OvsDriver::kName)
    throw UnsupportedVif("driver \"" + Printable(plug.driver) + "\" is unknown");
  ovs_.Disconnect(plug, attachment, deadline);
}

std::vector<Plug> Binding::FindPlugs(const Attachment& attachment, const Deadline& deadline) {
  return ovs_.FindPlugs(attachment, deadline);
}

}  // namespace kuryr::binding
