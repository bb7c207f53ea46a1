#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/mac.h"
#include "base/unique_fd.h"
#include "binding/devices/pod_folder.h"
#include "binding/netlink/route_socket.h"
#include "binding/plan/attachment.h"
#include "vif/pci_address.h"

namespace kuryr::binding {

/// A VF in a pod: its owner, and its earlier state, which it has to get back.
struct LentVf {
  vif::PciAddress address;
  Attachment owner;  ///< network, container_id and ifname alone
  std::string link;  ///< its name
  int index = 0;     ///< the link's, which the kernel keeps where it is free
  MacAddress mac;
  uint32_t mtu = 0;
  std::optional<VfSettings> settings;  ///< both set; nullopt where the physical function has none

  [[nodiscard]] std::string ToJson() const;
  /// Throws ParseError.
  [[nodiscard]] static LentVf Parse(const std::string& json);
};

/// The VFs that are lent, a file for each in a folder that only root may write. A pod may change
/// its VF's alias, and cannot change this file. Throws std::system_error. Immutable, thread-safe.
class LentVfStore {
 public:
  /// Makes the folder. EPERM for one that another user owns or may write.
  explicit LentVfStore(const std::filesystem::path& folder);

  /// Until it is closed, no other thread or process lends this VF or gives it back.
  [[nodiscard]] UniqueFd Lock(const vif::PciAddress& address) const;
  /// nullopt also for a file that cannot be read, which is logged.
  [[nodiscard]] std::optional<LentVf> Find(const vif::PciAddress& address) const;
  void Write(const LentVf& lent) const;
  void Remove(const vif::PciAddress& address) const;

 private:
  PodFolder files_;
};

}  // namespace kuryr::binding
