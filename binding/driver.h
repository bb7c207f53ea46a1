#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"
#include "base/mac.h"
#include "binding/netns.h"
#include "binding/planned.h"
#include "vif/pod_vifs.h"

namespace kuryr::binding {

/// Whose interfaces these are. (network, container_id, ifname) is the identity of an attachment
/// (CNI SPEC section 2), the pod's names are facts about it.
struct Attachment {
  std::string network;  ///< name of the CNI network
  std::string container_id;
  std::string ifname;   ///< CNI_IFNAME: the default VIF's interface
  std::string pod;      ///< NAMESPACE/NAME, for people
  std::string pod_uid;  ///< external_ids:vm-uuid
  std::string netns;    ///< path of the pod's namespace; empty when not known
  NetnsId netns_id;     ///< what has to be at the path; unset when not known
};

/// A plug without a record, and what is known of whose it is.
struct FoundPlug {
  Attachment attachment;
  Plug plug;
};

/// An interface that was made, as the kernel has it. Where an application with DPDK has it in the
/// kernel's place, it is as it was planned.
struct Interface {
  std::string name;
  MacAddress mac;
  uint32_t mtu = 0;
  bool in_pod = false;

  bool operator==(const Interface&) const = default;
};

/// One VIF that a driver is asked to connect or to check. Borrows what it refers to.
struct PlugRequest {
  const Planned& planned;  ///< by the same driver
  const Attachment& attachment;
  const Netns& pod;
  Deadline deadline;
};

/// The VIF cannot be made true, by a field that is missing or impossible.
class MalformedVif : public ParseError {
 public:
  explicit MalformedVif(const ParseError& problem) : ParseError(problem) {}
};

/// No driver for this type of VIF, or for its plugin; names them.
class UnsupportedVif : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The interface name is taken in the pod's namespace, by something that is not ours to remove.
class InterfaceExists : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A host interface or port of the wanted name belongs to somebody else: another pod, or no pod at
/// all.
class HostInterfaceInUse : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Makes VIFs of one kind true: layer 2, and layer 3 (ConfigureL3) where the pod has a network
/// interface. Thread-safe.
class Driver {
 public:
  virtual ~Driver() = default;

  /// All that is decided of a VIF that is to be connected. Changes nothing. Throws ParseError for a
  /// VIF that lacks what the driver needs.
  [[nodiscard]] Planned Plan(const vif::PodVif& vif) const {
    return PlanWith(vif, ChoosePlug(vif.vif, vif.ifname));
  }
  /// The first part of Plan: the names. It may look at the node, and refuse a device that is in
  /// use.
  [[nodiscard]] virtual Plug ChoosePlug(const vif::Vif& vif, const std::string& ifname) const = 0;
  /// The rest: what follows from VIF and plug, whatever the node has now. With the plug of a record
  /// it says what was connected.
  [[nodiscard]] virtual Planned PlanWith(const vif::PodVif& vif, const Plug& plug) const = 0;
  /// All or nothing: whatever was made is undone before an exception leaves. Leftovers of an
  /// earlier sandbox of the same pod are replaced; those of this attachment are Disconnect's. Host
  /// end first, pod end second.
  virtual std::vector<Interface> Connect(const PlugRequest& request) = 0;
  /// The first difference between what Connect made and what is there, in words; nullopt when there
  /// is none.
  [[nodiscard]] virtual std::optional<std::string> Check(const PlugRequest& request) const = 0;
  /// Idempotent; touches only what is this attachment's own.
  virtual void Disconnect(const Plug& plug, const Attachment& attachment,
                          const Deadline& deadline) = 0;
  /// The plugs of an attachment whose record is lost, from the marks on links and files. Binding
  /// itself finds those with ports of Open vSwitch.
  [[nodiscard]] virtual std::vector<Plug> FindPlugs(const Attachment& /*attachment*/,
                                                    const Deadline& /*deadline*/) const {
    return {};
  }
  /// As FindPlugs, for all attachments of a network, from the marks on the node's side.
  [[nodiscard]] virtual std::vector<FoundPlug> FindPlugsOf(const std::string& /*network*/,
                                                           const Deadline& /*deadline*/) const {
    return {};
  }
};

}  // namespace kuryr::binding
