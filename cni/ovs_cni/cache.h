#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace kuryr::cni {

/// What ovs-cni keeps of an attachment from its ADD to its DEL (its pkg/utils/cache.go): one JSON
/// file each, CONTAINER-IFNAME. Read for pods that ovs-cni plugged, and written so that ovs-cni can
/// unplug ours. It stands in /tmp, so what others may write is passed over. Nothing in here throws:
/// a pod is plugged and unplugged without it, and what goes wrong is logged.
class OvsCniCache {
 public:
  struct Entry {
    std::string ovsdb_connection;  ///< empty: not told
    std::string device;            ///< deviceID; empty: a veth pair
    std::string link;              ///< the device's name before it went into the pod
  };

  /// Empty: there is no cache.
  explicit OvsCniCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] std::optional<Entry> Find(const std::string& container_id,
                                          const std::string& ifname) const noexcept;
  /// `config` is the network configuration, with all that was found out since.
  void Write(const std::string& container_id, const std::string& ifname,
             const nlohmann::json& config, const std::string& link) const noexcept;
  void Remove(const std::string& container_id, const std::string& ifname) const noexcept;

 private:
  [[nodiscard]] std::filesystem::path PathOf(const std::string& container_id,
                                             const std::string& ifname) const {
    return folder_ / (container_id + "-" + ifname);
  }

  const std::filesystem::path folder_;
};

}  // namespace kuryr::cni
