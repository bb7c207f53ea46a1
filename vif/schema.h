#pragma once

#include <array>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "vif/rules.h"
#include "vif/vif.h"

// Names every class on the wire, and its fields. This is the only description: decode, encode and
// the readable form walk it. vif/README.md says how to add to it.
//
// Sources: os_vif/objects of os-vif 1.4 to 4.3 and kuryr_kubernetes/objects of Kuryr 0.5 to 10.0.
// kVersion is the newest version that os-vif 3.0 still reads; a field of a later one names its
// version with Since().

namespace kuryr::vif {

inline constexpr std::string_view kNamespace = "os_vif";

template <typename Class, typename T>
struct Member {
  constexpr Member(std::string_view name_, Field<T> Class::* field_, Rule rule_ = kAny)
      : name(name_), field(field_), rule(rule_) {}

  std::string_view name;
  Field<T> Class::* field;
  Rule rule;
};

/// Schema<Class>::kName, kVersion and kFields, a tuple of Member. A base of several classes has
/// only kFields.
template <typename Class>
struct Schema;

/// The fields of Base, then these.
template <typename Base, typename... Members>
constexpr auto Extend(Members... members) {
  return std::tuple_cat(Schema<Base>::kFields, std::tuple<Members...>{members...});
}

template <typename Class>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<List<T>> = true;

template <typename Class>
concept VersionedObject = requires {
  Schema<Class>::kName;
  Schema<Class>::kFields;
};

/// The texts of an enum's values, in the order of its enumerators.
template <typename Enum>
inline constexpr auto kEnumTexts = std::array<std::string_view, 0>{};
template <>
inline constexpr auto kEnumTexts<DirectMode> =
    std::array<std::string_view, 3>{"vepa", "passthrough", "bridge"};
template <>
inline constexpr auto kEnumTexts<VHostUserMode> =
    std::array<std::string_view, 2>{"client", "server"};
template <>
inline constexpr auto kEnumTexts<HostDeviceType> =
    std::array<std::string_view, 2>{"ethernet", "generic"};

// Addresses and networks.

template <>
struct Schema<FixedIp> {
  static constexpr std::string_view kName = "FixedIP";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields = std::tuple{Member{"address", &FixedIp::address},  //
                                             Member{"floating_ips", &FixedIp::floating_ips}};
};
template <>
struct Schema<FixedIpList> {
  static constexpr std::string_view kName = "FixedIPList";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields = std::tuple{Member{"objects", &FixedIpList::objects}};
};

template <>
struct Schema<Route> {
  static constexpr std::string_view kName = "Route";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields =
      std::tuple{Member{"cidr", &Route::cidr},  //
                 Member{"gateway", &Route::gateway, Nullable(kAny)},
                 Member{"interface", &Route::interface, kInterfaceName}};
};
template <>
struct Schema<RouteList> {
  static constexpr std::string_view kName = "RouteList";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields = std::tuple{Member{"objects", &RouteList::objects}};
};

template <>
struct Schema<Subnet> {
  static constexpr std::string_view kName = "Subnet";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields = std::tuple{Member{"cidr", &Subnet::cidr},
                                             Member{"dns", &Subnet::dns},
                                             Member{"gateway", &Subnet::gateway, Nullable(kAny)},
                                             Member{"ips", &Subnet::ips},
                                             Member{"routes", &Subnet::routes},
                                             Member{"dhcp_server", &Subnet::dhcp_server}};
};
template <>
struct Schema<SubnetList> {
  static constexpr std::string_view kName = "SubnetList";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields = std::tuple{Member{"objects", &SubnetList::objects}};
};

template <>
struct Schema<Network> {
  static constexpr std::string_view kName = "Network";
  static constexpr std::string_view kVersion = "1.1";
  static constexpr auto kFields =
      std::tuple{Member{"id", &Network::id, kUuid},
                 Member{"bridge", &Network::bridge, kInterfaceName},
                 Member{"label", &Network::label},
                 Member{"subnets", &Network::subnets},
                 Member{"multi_host", &Network::multi_host},
                 Member{"should_provide_bridge", &Network::should_provide_bridge},
                 Member{"should_provide_vlan", &Network::should_provide_vlan},
                 Member{"bridge_interface", &Network::bridge_interface, Nullable(kInterfaceName)},
                 Member{"vlan", &Network::vlan, Nullable(kVlanId)},
                 Member{"mtu", &Network::mtu, Nullable(kMtu)}};
};

// Port profiles.

template <>
struct Schema<DatapathOffloadBase> {
  static constexpr std::string_view kName = "DatapathOffloadBase";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields = std::tuple{};
};
template <>
struct Schema<DatapathOffloadRepresentor> {
  using V = DatapathOffloadRepresentor;
  static constexpr std::string_view kName = "DatapathOffloadRepresentor";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields = Extend<DatapathOffloadBase>(
      Member{"representor_name", &V::representor_name, Nullable(kInterfaceName)},
      Member{"representor_address", &V::representor_address, Nullable(kPciAddressText)});
};

template <>
struct Schema<PortProfileBase> {
  static constexpr std::string_view kName = "VIFPortProfileBase";
  static constexpr std::string_view kVersion = "1.1";
  static constexpr auto kFields =
      std::tuple{Member{"datapath_offload", &PortProfileBase::datapath_offload, Nullable(kAny)}};
};
template <>
struct Schema<PortProfileOpenVSwitch> {
  using V = PortProfileOpenVSwitch;
  static constexpr std::string_view kName = "VIFPortProfileOpenVSwitch";
  static constexpr std::string_view kVersion = "1.3";
  static constexpr auto kFields = Extend<PortProfileBase>(
      Member{"interface_id", &V::interface_id, kUuid}, Member{"profile_id", &V::profile_id},
      Member{"datapath_type", &V::datapath_type, Nullable(kAny)},
      Member{"create_port", &V::create_port}, Member{"create_tap", &V::create_tap, Since("1.4")},
      Member{"multiqueue", &V::multiqueue, Since("1.4")});
};
template <>
struct Schema<PortProfileFpOpenVSwitch> {
  using V = PortProfileFpOpenVSwitch;
  static constexpr std::string_view kName = "VIFPortProfileFPOpenVSwitch";
  static constexpr std::string_view kVersion = "1.3";
  static constexpr auto kFields =
      Extend<PortProfileOpenVSwitch>(Member{"bridge_name", &V::bridge_name, kInterfaceName},
                                     Member{"hybrid_plug", &V::hybrid_plug});
};
template <>
struct Schema<PortProfileOvsRepresentor> {
  using V = PortProfileOvsRepresentor;
  static constexpr std::string_view kName = "VIFPortProfileOVSRepresentor";
  static constexpr std::string_view kVersion = "1.3";
  static constexpr auto kFields = Extend<PortProfileOpenVSwitch>(
      Member{"representor_name", &V::representor_name, Nullable(kInterfaceName)},
      Member{"representor_address", &V::representor_address, Nullable(kAny)});
};
template <>
struct Schema<PortProfileFpBridge> {
  static constexpr std::string_view kName = "VIFPortProfileFPBridge";
  static constexpr std::string_view kVersion = "1.1";
  static constexpr auto kFields = Extend<PortProfileBase>(
      Member{"bridge_name", &PortProfileFpBridge::bridge_name, kInterfaceName});
};
template <>
struct Schema<PortProfileFpTap> {
  static constexpr std::string_view kName = "VIFPortProfileFPTap";
  static constexpr std::string_view kVersion = "1.1";
  static constexpr auto kFields = Extend<PortProfileBase>(
      Member{"mac_address", &PortProfileFpTap::mac_address, Nullable(kAny)});
};
template <>
struct Schema<PortProfile8021Qbg> {
  using V = PortProfile8021Qbg;
  static constexpr std::string_view kName = "VIFPortProfile8021Qbg";
  static constexpr std::string_view kVersion = "1.1";
  static constexpr auto kFields = Extend<PortProfileBase>(
      Member{"manager_id", &V::manager_id},  //
      Member{"type_id", &V::type_id}, Member{"type_id_version", &V::type_id_version},
      Member{"instance_id", &V::instance_id, kUuid});
};
template <>
struct Schema<PortProfile8021Qbh> {
  static constexpr std::string_view kName = "VIFPortProfile8021Qbh";
  static constexpr std::string_view kVersion = "1.1";
  static constexpr auto kFields =
      Extend<PortProfileBase>(Member{"profile_id", &PortProfile8021Qbh::profile_id});
};
template <>
struct Schema<PortProfileK8sDpdk> {
  using V = PortProfileK8sDpdk;
  static constexpr std::string_view kName = "VIFPortProfileK8sDPDK";
  static constexpr std::string_view kVersion = "1.1";
  static constexpr auto kFields = Extend<PortProfileBase>(
      Member{"l3_setup", &V::l3_setup},  //
      Member{"selflink", &V::selflink}, Member{"resourceversion", &V::resourceversion});
};

// VIFs.

template <>
struct Schema<VifBase> {
  static constexpr auto kFields =
      std::tuple{Member{"id", &VifBase::id, kUuid},
                 Member{"address", &VifBase::address, Nullable(kAny)},
                 Member{"network", &VifBase::network, Nullable(kAny)},
                 Member{"plugin", &VifBase::plugin},
                 Member{"active", &VifBase::active},
                 Member{"preserve_on_delete", &VifBase::preserve_on_delete},
                 Member{"has_traffic_filtering", &VifBase::has_traffic_filtering},
                 Member{"port_profile", &VifBase::port_profile, Nullable(kAny)},
                 Member{"fixed_ips", &VifBase::fixed_ips}};
};
template <>
struct Schema<VifGeneric> {
  static constexpr std::string_view kName = "VIFGeneric";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields =
      Extend<VifBase>(Member{"vif_name", &VifGeneric::vif_name, kInterfaceName});
};
template <>
struct Schema<VifBridge> {
  static constexpr std::string_view kName = "VIFBridge";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields =
      Extend<VifBase>(Member{"vif_name", &VifBridge::vif_name, kInterfaceName},
                      Member{"bridge_name", &VifBridge::bridge_name, kInterfaceName});
};
template <>
struct Schema<VifOpenVSwitch> {
  static constexpr std::string_view kName = "VIFOpenVSwitch";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields =
      Extend<VifBase>(Member{"vif_name", &VifOpenVSwitch::vif_name, kInterfaceName},
                      Member{"bridge_name", &VifOpenVSwitch::bridge_name, kInterfaceName});
};
template <>
struct Schema<VifDirect> {
  static constexpr std::string_view kName = "VIFDirect";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields = Extend<VifBase>(
      Member{"vif_name", &VifDirect::vif_name, kInterfaceName},
      Member{"dev_address", &VifDirect::dev_address}, Member{"mode", &VifDirect::mode},
      Member{"vlan_name", &VifDirect::vlan_name, kVlanName});
};
template <>
struct Schema<VifSriov> {
  static constexpr std::string_view kName = "VIFSriov";
  static constexpr std::string_view kVersion = "1.1";
  static constexpr auto kFields = Extend<VifDirect>(Member{"physnet", &VifSriov::physnet},
                                                    Member{"pod_name", &VifSriov::pod_name},
                                                    Member{"pod_link", &VifSriov::pod_link});
};
template <>
struct Schema<VifVHostUser> {
  static constexpr std::string_view kName = "VIFVHostUser";
  static constexpr std::string_view kVersion = "1.1";
  static constexpr auto kFields =
      Extend<VifBase>(Member{"vif_name", &VifVHostUser::vif_name, kInterfaceName},
                      Member{"path", &VifVHostUser::path},  //
                      Member{"mode", &VifVHostUser::mode});
};
template <>
struct Schema<VifHostDevice> {
  static constexpr std::string_view kName = "VIFHostDevice";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields =
      Extend<VifBase>(Member{"dev_type", &VifHostDevice::dev_type},
                      Member{"dev_address", &VifHostDevice::dev_address});
};
template <>
struct Schema<VifNestedDpdk> {
  static constexpr std::string_view kName = "VIFNestedDPDK";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields =
      Extend<VifBase>(Member{"pci_address", &VifNestedDpdk::pci_address, kPciAddressText},
                      Member{"dev_driver", &VifNestedDpdk::dev_driver, kDriverName});
};
template <>
struct Schema<VifDpdkNested> {
  static constexpr std::string_view kName = "VIFDPDKNested";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields =
      Extend<VifNestedDpdk>(Member{"vif_name", &VifDpdkNested::vif_name, kInterfaceName});
};
template <>
struct Schema<VifVlanNested> {
  static constexpr std::string_view kName = "VIFVlanNested";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields =
      Extend<VifBase>(Member{"vif_name", &VifVlanNested::vif_name, kInterfaceName},
                      Member{"vlan_id", &VifVlanNested::vlan_id, kVlanId});
};
template <>
struct Schema<VifMacvlanNested> {
  static constexpr std::string_view kName = "VIFMacvlanNested";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields =
      Extend<VifBase>(Member{"vif_name", &VifMacvlanNested::vif_name, kInterfaceName});
};

// Around VIFs.

template <>
struct Schema<PodState> {
  static constexpr std::string_view kName = "PodState";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields = std::tuple{Member{"default_vif", &PodState::default_vif},
                                             Member{"additional_vifs", &PodState::additional_vifs}};
};
template <>
struct Schema<InstanceInfo> {
  static constexpr std::string_view kName = "InstanceInfo";
  static constexpr std::string_view kVersion = "1.0";
  static constexpr auto kFields =
      std::tuple{Member{"uuid", &InstanceInfo::uuid, kUuid}, Member{"name", &InstanceInfo::name},
                 Member{"project_id", &InstanceInfo::project_id}};
};

}  // namespace kuryr::vif
