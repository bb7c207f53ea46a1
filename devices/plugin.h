#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/deadline.h"
#include "devices/device.h"
#include "devices/metrics.h"
#include "devices/ownership.h"
#include "devices/resource.h"
#include "kubelet/deviceplugin.pb.h"
#include "kubelet/server.h"
#include "kubelet/unary_call.h"

namespace kuryr::devices {

/// The socket's name of a resource's plugin: "kuryr-intel.com_sriov_net.sock".
[[nodiscard]] std::string EndpointOf(const Resource& resource);

/// The identity of a file: a new file at its path has another.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  int64_t changed = 0;  ///< nanoseconds since 1970

  bool operator==(const FileIdentity&) const = default;

  /// nullopt if there is no file.
  [[nodiscard]] static std::optional<FileIdentity> Of(const std::filesystem::path& path);
  /// The file's age, by the file system's clock.
  [[nodiscard]] std::chrono::nanoseconds Age() const;
};

/// The device plugin (v1beta1) of one resource: a socket in the kubelet's folder. It has no thread,
/// and is not thread-safe. Its owner polls fds(), and calls Advance() when one is readable. The
/// owner calls Keep() after a change in the folder, and at KeepAt(). The destructor stops the
/// plugin without telling the kubelet, so pods keep their devices.
class Plugin {
 public:
  using Clock = std::chrono::steady_clock;

  /// The plugin's surroundings; the metrics are borrowed.
  struct Ground {
    std::filesystem::path folder;  ///< /var/lib/kubelet/device-plugins
    std::filesystem::path sysfs;
    Metrics& metrics;
  };

  Plugin(Resource resource, Ground ground);
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  /// Replaces the resource by a newly read one of its name.
  void SetResource(Resource resource);
  /// Sets the offered devices.
  void Offer(std::vector<Device> devices);
  /// Withholds the devices with these ids from pods: the kubelet sees them as unhealthy.
  void Withhold(std::set<std::string> ids);
  /// Sends the kubelet the offered devices, if they have changed.
  void Tell();
  /// Listens if the socket is missing, and registers with a new kubelet. Logs a failure and tries
  /// again later.
  void Keep();
  /// The time of the next call of Keep().
  [[nodiscard]] Clock::time_point KeepAt() const noexcept { return keep_at_; }

  [[nodiscard]] std::vector<int> Fds() const;
  void Advance();

  /// The devices that containers got within the last minute; the kubelet may not report them yet.
  [[nodiscard]] Owners RecentlyAllocated() const;
  [[nodiscard]] bool is_registered() const noexcept { return registered_with_.has_value(); }
  [[nodiscard]] const std::vector<Device>& devices() const noexcept { return devices_; }
  [[nodiscard]] const std::set<std::string>& withheld() const noexcept { return withheld_; }

 private:
  struct Registration {
    Registration(const FileIdentity& with, const kubelet::CallRequest& request,
                 const Deadline& deadline)
        : kubelet(with), call(request, deadline) {}

    FileIdentity kubelet;
    kubelet::UnaryCall call;
  };

  /// Listens; false if it has to wait first.
  [[nodiscard]] bool Listen();
  void Register();
  void EndRegistration();
  void TryAgainLater(const char* what, const std::string& why);
  [[nodiscard]] kubelet::Methods MakeMethods();
  [[nodiscard]] kubelet::v1beta1::ListAndWatchResponse Listed() const;
  [[nodiscard]] kubelet::v1beta1::AllocateResponse AllocateAll(
      const kubelet::v1beta1::AllocateRequest& request);
  [[nodiscard]] std::vector<Device> FindAll(
      const google::protobuf::RepeatedPtrField<std::string>& ids) const;
  [[nodiscard]] kubelet::v1beta1::PreferredAllocationResponse PreferAll(
      const kubelet::v1beta1::PreferredAllocationRequest& request) const;

  Resource resource_;
  const Ground ground_;
  const std::string name_;      ///< "intel.com/sriov_net"
  const std::string endpoint_;  ///< the socket's name
  std::vector<Device> devices_;
  std::set<std::string> withheld_;
  bool is_news_ = false;  ///< whether the list has changed since it was sent
  std::string told_;      ///< the last list, serialised
  std::map<std::string, Clock::time_point> allocated_;
  std::vector<std::shared_ptr<kubelet::AnswerStream>> streams_;
  std::optional<FileIdentity> socket_;  ///< ours
  std::unique_ptr<kubelet::Server> server_;
  std::optional<FileIdentity> registered_with_;
  std::optional<Registration> registration_;  ///< under way
  std::optional<FileIdentity> refused_by_;    ///< the last kubelet that refused the registration
  Backoff backoff_{std::chrono::milliseconds(100), std::chrono::milliseconds(1000)};
  std::string problem_;  ///< logged last
  Clock::time_point listened_at_;
  Clock::time_point keep_at_ = Clock::time_point::max();
};

}  // namespace kuryr::devices
