#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace kuryr::cni {

/// ovs-cni's cache of attachments, from ADD to DEL (its pkg/utils/cache.go): a JSON file for each,
/// CONTAINER-IFNAME. We read it for pods that ovs-cni plugged, and write it so that ovs-cni can
/// unplug ours. It is in /tmp, so files that other users may write are ignored. No function throws:
/// failures are logged, and a pod is plugged and unplugged without the cache.
class OvsCniCache {
 public:
  struct Entry {
    std::string ovsdb_connection;  ///< empty: not told
    std::string device;            ///< deviceID; empty: a veth pair
    std::string link;              ///< the device's name before it went into the pod
  };

  /// With an empty `folder` there is no cache.
  explicit OvsCniCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] std::optional<Entry> Find(const std::string& container_id,
                                          const std::string& ifname) const noexcept;
  /// `config` is the network configuration, with the bridge and the device that it left open.
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
