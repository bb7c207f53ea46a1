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

/// A kind of VIF that is not named in here does not compile. Driver: const for Plan.
template <typename Driver>
Driver* DriverFor(const vif::Vif& vif, Driver* ovs) {
  const auto unsupported = [&vif]() -> Driver* {
    const std::string plugin = Common(vif).plugin.value_or("");
    throw UnsupportedVif(std::string(ClassName(vif)) + " (plugin \"" + Printable(plugin) +
                         "\") has no driver");
  };
  return std::visit(
      Overloaded{[&](const vif::VifOpenVSwitch&) -> Driver* { return ovs; },
                 [&](const vif::VifGeneric&) -> Driver* { return unsupported(); },
                 [&](const vif::VifBridge&) -> Driver* { return unsupported(); },
                 [&](const vif::VifDirect&) -> Driver* { return unsupported(); },
                 [&](const vif::VifSriov&) -> Driver* { return unsupported(); },
                 [&](const vif::VifVHostUser&) -> Driver* { return unsupported(); },
                 [&](const vif::VifHostDevice&) -> Driver* { return unsupported(); },
                 [&](const vif::VifNestedDpdk&) -> Driver* { return unsupported(); },
                 [&](const vif::VifDpdkNested&) -> Driver* { return unsupported(); },
                 [&](const vif::VifVlanNested&) -> Driver* { return unsupported(); },
                 [&](const vif::VifMacvlanNested&) -> Driver* { return unsupported(); }},
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
