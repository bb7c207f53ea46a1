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

/// "kuryr-intel.com_sriov_net.sock", the socket of a resource's plugin.
[[nodiscard]] std::string EndpointOf(const Resource& resource);

/// A file as it was made: the next one of its path is another.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  int64_t changed = 0;  ///< nanoseconds since 1970

  bool operator==(const FileIdentity&) const = default;

  /// nullopt where there is none.
  [[nodiscard]] static std::optional<FileIdentity> Of(const std::filesystem::path& path);
  /// As the clock of files goes.
  [[nodiscard]] std::chrono::nanoseconds Age() const;
};

/// The device plugin (v1beta1) of one resource: a socket in the kubelet's folder. It has no thread,
/// and is not thread-safe: its owner polls fds(), calls Advance() when one is readable, and Keep()
/// when something has happened in the folder, and at KeepAt(). It stops by being destroyed, without
/// a word to the kubelet, which keeps what pods have.
class Plugin {
 public:
  using Clock = std::chrono::steady_clock;

  /// What it stands on; the metrics are borrowed.
  struct Ground {
    std::filesystem::path folder;  ///< /var/lib/kubelet/device-plugins
    std::filesystem::path sysfs;
    Metrics& metrics;
  };

  Plugin(Resource resource, Ground ground);
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  /// The same name, read anew.
  void SetResource(Resource resource);
  /// From now on these.
  void Offer(std::vector<Device> devices);
  /// Of these ids pods get none: they are unhealthy to the kubelet.
  void Withhold(std::set<std::string> ids);
  /// Tells the kubelet what it offers now, if that is news.
  void Tell();
  /// Listens where its socket is not there, and registers with a kubelet that has not had it. What
  /// fails is logged, and tried again.
  void Keep();
  /// When Keep() is to be called again, whatever happens.
  [[nodiscard]] Clock::time_point KeepAt() const noexcept { return keep_at_; }

  [[nodiscard]] std::vector<int> Fds() const;
  void Advance();

  /// Its devices that containers were given within the last minute: the kubelet may not tell of
  /// them yet.
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

  /// False when it has to wait.
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
  bool is_news_ = false;  ///< a list of many devices is not made for nothing
  std::string told_;      ///< the last list, serialised
  std::map<std::string, Clock::time_point> allocated_;
  std::vector<std::shared_ptr<kubelet::AnswerStream>> streams_;
  std::optional<FileIdentity> socket_;  ///< ours
  std::unique_ptr<kubelet::Server> server_;
  std::optional<FileIdentity> registered_with_;
  std::optional<Registration> registration_;  ///< under way
  std::optional<FileIdentity> refused_by_;    ///< who was asked last, and has not registered it
  Backoff backoff_{std::chrono::milliseconds(100), std::chrono::milliseconds(1000)};
  std::string problem_;  ///< logged last
  Clock::time_point listened_at_;
  Clock::time_point keep_at_ = Clock::time_point::max();
};

}  // namespace kuryr::devices
