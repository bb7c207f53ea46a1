#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/ip.h"
#include "base/mac.h"
#include "vif/field.h"
#include "vif/pci_address.h"

// The objects of os-vif (namespace "os_vif") and the ones kuryr-kubernetes added to it, as plain
// values. Texts hold what the wire says; those that name interfaces, UUIDs and PCI addresses were
// checked by the decoder. vif/schema.h has each field's name on the wire and the values it accepts.

namespace kuryr::vif {

/// A member that our description of the class does not know.
struct UnknownField {
  std::string name;
  std::string json;  ///< its value as compact JSON

  bool operator==(const UnknownField&) const = default;
};

/// The parts of an object's JSON other than its fields, kept so that encoding it again gives the
/// input. It is empty in a value made by hand.
struct Envelope {
  std::string version;  ///< "1.0"; empty means the class's own
  std::optional<std::vector<std::string>>
      changes;                                ///< fields the producer changed; nullopt: absent
  std::vector<UnknownField> unknown_fields;   ///< in versioned_object.data
  std::vector<UnknownField> unknown_members;  ///< beside it

  bool operator==(const Envelope&) const = default;
};

/// A list object (SubnetList, RouteList, FixedIPList). Iterates as empty when `objects` is unset.
template <typename T>
struct List {
  Field<std::vector<T>> objects;
  Envelope envelope;

  [[nodiscard]] const T* begin() const { return objects.has_value() ? objects->data() : nullptr; }
  [[nodiscard]] const T* end() const { return begin() + size(); }
  [[nodiscard]] size_t size() const { return objects.has_value() ? objects->size() : 0; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  const T& operator[](size_t index) const { return (*objects)[index]; }

  bool operator==(const List&) const = default;
};

struct FixedIp {
  Field<IpAddress> address;
  Field<std::vector<IpAddress>> floating_ips;
  Envelope envelope;

  bool operator==(const FixedIp&) const = default;
};
using FixedIpList = List<FixedIp>;

struct Route {
  Field<IpNetwork> cidr;
  Field<IpAddress> gateway;  ///< unset or null: on link
  Field<std::string> interface;
  Envelope envelope;

  bool operator==(const Route&) const = default;
};
using RouteList = List<Route>;

struct Subnet {
  Field<IpNetwork> cidr;
  Field<std::vector<IpAddress>> dns;
  Field<IpAddress> gateway;  ///< unset or null: the subnet has none
  Field<FixedIpList> ips;    ///< read it through FixedIpsOf()
  Field<RouteList> routes;
  Field<IpAddress> dhcp_server;
  Envelope envelope;

  bool operator==(const Subnet&) const = default;
};
using SubnetList = List<Subnet>;

/// A value made by hand has the defaults of os-vif's constructor. A decoded value has the fields of
/// its JSON.
struct Network {
  Field<std::string> id;  ///< UUID
  Field<std::string> bridge;
  Field<std::string> label;
  Field<SubnetList> subnets = SubnetList{.objects = std::vector<Subnet>()};
  Field<bool> multi_host = false;
  Field<bool> should_provide_bridge = false;
  Field<bool> should_provide_vlan = false;
  Field<std::string> bridge_interface;
  Field<uint16_t> vlan;          ///< 1..4094
  Field<uint32_t> mtu = Null{};  ///< bytes; read it through MtuOf()
  Envelope envelope;

  bool operator==(const Network&) const = default;
};

struct DatapathOffloadBase {
  Envelope envelope;

  bool operator==(const DatapathOffloadBase&) const = default;
};
struct DatapathOffloadRepresentor : DatapathOffloadBase {
  Field<std::string> representor_name;
  Field<std::string> representor_address;  ///< empty or a PCI address

  bool operator==(const DatapathOffloadRepresentor&) const = default;
};
using DatapathOffload = std::variant<DatapathOffloadBase, DatapathOffloadRepresentor>;

struct PortProfileBase {
  Field<DatapathOffload> datapath_offload;
  Envelope envelope;

  bool operator==(const PortProfileBase&) const = default;
};
/// The profile_id of a port that may send from any address (Neutron: port_security_enabled false).
inline constexpr const char* kNoPortSecurity = "no-port-security";

struct PortProfileOpenVSwitch : PortProfileBase {
  Field<std::string> interface_id;  ///< UUID; the OVS port's external_ids:iface-id
  Field<std::string> profile_id;
  Field<std::string> datapath_type;
  Field<bool> create_port;
  Field<bool> create_tap;
  Field<bool> multiqueue;

  bool operator==(const PortProfileOpenVSwitch&) const = default;
};
struct PortProfileFpOpenVSwitch : PortProfileOpenVSwitch {
  Field<std::string> bridge_name;
  Field<bool> hybrid_plug;

  bool operator==(const PortProfileFpOpenVSwitch&) const = default;
};
struct PortProfileOvsRepresentor : PortProfileOpenVSwitch {
  Field<std::string> representor_name;
  Field<PciAddress> representor_address;

  bool operator==(const PortProfileOvsRepresentor&) const = default;
};
struct PortProfileFpBridge : PortProfileBase {
  Field<std::string> bridge_name;

  bool operator==(const PortProfileFpBridge&) const = default;
};
struct PortProfileFpTap : PortProfileBase {
  Field<MacAddress> mac_address;

  bool operator==(const PortProfileFpTap&) const = default;
};
struct PortProfile8021Qbg : PortProfileBase {
  Field<int64_t> manager_id;
  Field<int64_t> type_id;
  Field<int64_t> type_id_version;
  Field<std::string> instance_id;  ///< UUID

  bool operator==(const PortProfile8021Qbg&) const = default;
};
struct PortProfile8021Qbh : PortProfileBase {
  Field<std::string> profile_id;

  bool operator==(const PortProfile8021Qbh&) const = default;
};
struct PortProfileK8sDpdk : PortProfileBase {
  Field<bool> l3_setup;
  Field<std::string> selflink;
  Field<std::string> resourceversion;

  bool operator==(const PortProfileK8sDpdk&) const = default;
};
using PortProfile = std::variant<PortProfileBase, PortProfileOpenVSwitch, PortProfileFpOpenVSwitch,
                                 PortProfileOvsRepresentor, PortProfileFpBridge, PortProfileFpTap,
                                 PortProfile8021Qbg, PortProfile8021Qbh, PortProfileK8sDpdk>;

/// The base of every VIF; never a VIF by itself.
struct VifBase {
  Field<std::string> id;  ///< UUID of the port
  Field<MacAddress> address;
  Field<Network> network;
  Field<std::string> plugin;  ///< "ovs", "linux_bridge", "noop", "sriov"
  Field<bool> active;
  Field<bool> preserve_on_delete;
  Field<bool> has_traffic_filtering;
  Field<PortProfile> port_profile;
  Field<FixedIpList> fixed_ips;  ///< os-vif 1.8.0 only; read it through FixedIpsOf()
  Envelope envelope;

  bool operator==(const VifBase&) const = default;
};

struct VifGeneric : VifBase {
  Field<std::string> vif_name;

  bool operator==(const VifGeneric&) const = default;
};
struct VifBridge : VifBase {
  Field<std::string> vif_name;
  Field<std::string> bridge_name;

  bool operator==(const VifBridge&) const = default;
};
struct VifOpenVSwitch : VifBase {
  Field<std::string> vif_name;
  Field<std::string> bridge_name;

  bool operator==(const VifOpenVSwitch&) const = default;
};

enum class DirectMode { kVepa, kPassthrough, kBridge };
struct VifDirect : VifBase {
  Field<std::string> vif_name;
  Field<PciAddress> dev_address;
  Field<DirectMode> mode;
  Field<std::string> vlan_name;  ///< may be empty

  bool operator==(const VifDirect&) const = default;
};
/// vlan_name holds the VLAN id in decimal, or nothing.
struct VifSriov : VifDirect {
  Field<std::string> physnet;
  Field<std::string> pod_name;
  Field<std::string> pod_link;

  bool operator==(const VifSriov&) const = default;
};

/// Which end of the socket the VIF's user is; OVS is the other one.
enum class VHostUserMode { kClient, kServer };
struct VifVHostUser : VifBase {
  Field<std::string> vif_name;
  Field<std::string> path;
  Field<VHostUserMode> mode;

  bool operator==(const VifVHostUser&) const = default;
};

enum class HostDeviceType { kEthernet, kGeneric };
struct VifHostDevice : VifBase {
  Field<HostDeviceType> dev_type;
  Field<PciAddress> dev_address;

  bool operator==(const VifHostDevice&) const = default;
};

struct VifNestedDpdk : VifBase {
  Field<std::string> pci_address;  ///< empty or a PCI address
  Field<std::string> dev_driver;   ///< empty or a name without '/'

  bool operator==(const VifNestedDpdk&) const = default;
};
struct VifDpdkNested : VifNestedDpdk {
  Field<std::string> vif_name;

  bool operator==(const VifDpdkNested&) const = default;
};
struct VifVlanNested : VifBase {
  Field<std::string> vif_name;
  Field<uint16_t> vlan_id;  ///< 1..4094

  bool operator==(const VifVlanNested&) const = default;
};
struct VifMacvlanNested : VifBase {
  Field<std::string> vif_name;

  bool operator==(const VifMacvlanNested&) const = default;
};

/// The kinds of VIF: a closed set, so that a std::visit over it does not compile before it handles
/// all of them.
using Vif =
    std::variant<VifGeneric, VifBridge, VifOpenVSwitch, VifDirect, VifVHostUser, VifHostDevice,
                 VifNestedDpdk, VifVlanNested, VifMacvlanNested, VifDpdkNested, VifSriov>;

/// kuryr's annotation from 0.5.0 to 2.0.0: all VIFs of one pod.
struct PodState {
  Field<Vif> default_vif;
  Field<std::map<std::string, Vif>> additional_vifs;  ///< by interface name
  Envelope envelope;

  bool operator==(const PodState&) const = default;
};

struct InstanceInfo {
  Field<std::string> uuid;
  Field<std::string> name;
  Field<std::string> project_id;
  Envelope envelope;

  bool operator==(const InstanceInfo&) const = default;
};

[[nodiscard]] const VifBase& Common(const Vif& vif);
[[nodiscard]] VifBase& Common(Vif& vif);
/// The name on the wire: "VIFOpenVSwitch", "VIFPortProfileFPTap".
[[nodiscard]] std::string_view ClassName(const Vif& vif);
[[nodiscard]] std::string_view ClassName(const PortProfile& profile);
/// The name of the host's interface, by which a VIF knows its device; VIFHostDevice and
/// VIFNestedDPDK do not. nullopt where the kind has none or it is unset.
[[nodiscard]] std::optional<std::string> VifNameOf(const Vif& vif);

/// The addresses that the VIF has in `subnet`, one of its subnets, each with the subnet's prefix
/// length (32 or 128 without a CIDR). They are subnet.ips; if that is unset (os-vif 1.8.0), those
/// of vif.fixed_ips inside the CIDR.
[[nodiscard]] std::vector<IpNetwork> FixedIpsOf(const VifBase& vif, const Subnet& subnet);
/// The addresses of the VIF in all its subnets, in the subnets' order; empty without a network.
[[nodiscard]] std::vector<IpNetwork> AddressesOf(const VifBase& vif);
/// The network's MTU; nullopt where the producer names none (absent, null and 0 mean the same).
[[nodiscard]] std::optional<uint32_t> MtuOf(const VifBase& vif);

/// Drops unknown members and the list of changed fields; keeps the fields and their versions.
/// Returns about the bytes that the fields then take on the heap.
[[nodiscard]] size_t SlimDown(Vif& vif);

/// The value of a field the caller cannot do without. Throws ParseError with `path`.
template <typename T>
[[nodiscard]] const T& Required(const Field<T>& field, const std::string& path) {
  if (!field.has_value()) throw ParseError(path, field.is_null() ? "is null" : "is not set");
  return *field;
}

/// Whether versioned_object.changes is written: as the value keeps it, or never.
enum class Changes { kKeep, kOmit };

/// Decode accepts any 1.x version and unknown fields. For other faults it throws ParseError with
/// the field's path, the found and the expected value. `path` is the place of `primitive` in its
/// document. Encode gives the result of Python's obj_to_primitive(). Decode(Encode(value)) ==
/// value, with empty versions filled in.
[[nodiscard]] Vif DecodeVif(const nlohmann::json& primitive, const std::string& path = "$");
[[nodiscard]] PodState DecodePodState(const nlohmann::json& primitive,
                                      const std::string& path = "$");
[[nodiscard]] Network DecodeNetwork(const nlohmann::json& primitive, const std::string& path = "$");
[[nodiscard]] InstanceInfo DecodeInstanceInfo(const nlohmann::json& primitive,
                                              const std::string& path = "$");
[[nodiscard]] nlohmann::json EncodeVif(const Vif& vif, Changes changes = Changes::kKeep);
[[nodiscard]] nlohmann::json EncodePodState(const PodState& state,
                                            Changes changes = Changes::kKeep);
[[nodiscard]] nlohmann::json EncodeNetwork(const Network& network,
                                           Changes changes = Changes::kKeep);
[[nodiscard]] nlohmann::json EncodeInstanceInfo(const InstanceInfo& instance,
                                                Changes changes = Changes::kKeep);

}  // namespace kuryr::vif
