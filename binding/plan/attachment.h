#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/deadline.h"
#include "base/error.h"
#include "base/mac.h"
#include "binding/netns.h"
#include "binding/plan/planned.h"

namespace kuryr::binding {

/// The owner of a plug. (network, container_id, ifname) is the identity of an attachment (CNI SPEC
/// section 2); the pod's names are facts about it.
struct Attachment {
  std::string network;  ///< name of the CNI network
  std::string container_id;
  std::string ifname;   ///< CNI_IFNAME: the default VIF's interface
  std::string pod;      ///< NAMESPACE/NAME, for people
  std::string pod_uid;  ///< external_ids:vm-uuid
  std::string netns;    ///< path of the pod's namespace; empty when not known
  NetnsId netns_id;     ///< the namespace that has to be at the path; unset when not known
};

/// A plug without a record, and its owner as far as marks say it.
struct FoundPlug {
  Attachment attachment;
  Plug plug;
};

/// An interface that was made, as the kernel has it. An interface that an application with DPDK has
/// in the kernel's place is told as planned.
struct Interface {
  std::string name;
  MacAddress mac;
  uint32_t mtu = 0;
  bool in_pod = false;

  bool operator==(const Interface&) const = default;
};

/// One VIF that a driver is asked to connect or to check. Borrows its members.
struct PlugRequest {
  const Planned& planned;  ///< by the driver that is asked
  const Attachment& attachment;
  const Netns& pod;
  Deadline deadline;
};

/// The VIF cannot be made true: a field is missing or impossible.
class MalformedVif : public ParseError {
 public:
  explicit MalformedVif(const ParseError& problem) : ParseError(problem) {}
};

/// No driver takes this type of VIF, or its plugin; the text names both.
class UnsupportedVif : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The runtime asks for a limit of the pod's traffic that would not hold here.
class UnsupportedLimit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Another interface has the name in the pod's namespace, and Connect may not remove it.
class InterfaceExists : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A host interface or port of the wanted name belongs to another pod, or to no pod.
class HostInterfaceInUse : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace kuryr::binding
