#pragma once

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "binding/drivers/drivers.h"
#include "binding/ovs/open_vswitch.h"
#include "binding/parts/driver.h"
#include "tests/binding/differences.h"
#include "tests/binding/pod_attachment.h"
#include "tests/binding/vifs.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr::binding {

namespace fs = std::filesystem;

inline constexpr const char* kMountPoint = "/run/vhostuser";
inline constexpr const char* kNeutronPort = "vhu450e5c61-dc";

using SocketCall = int (*)(int, const sockaddr*, socklen_t);

inline UniqueFd OpenSocket(SocketCall call, const fs::path& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  if (call(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    ThrowErrno("open socket " + path.string());
  return fd;
}

inline UniqueFd ConnectTo(const fs::path& path) { return OpenSocket(::connect, path); }

inline UniqueFd ListenAt(const fs::path& path) {
  UniqueFd fd = OpenSocket(::bind, path);
  if (::listen(fd.get(), 1) != 0) ThrowErrno("listen at " + path.string());
  return fd;
}

/// A private Open vSwitch, as Debian's, without DPDK: ports of these kinds fail in it.
class VhostUserDriverTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    fs::create_directory(kMountPoint);
    ovs_.emplace("/run");
    driver_ = NewVhostUserDriver({Config(), shared_});
    pod_.emplace(MakePodNetns());
  }
  void TearDown() override {
    ovs_.reset();
    NetnsTest::TearDown();
  }

  [[nodiscard]] BindingConfig Config() const {
    return {.ovsdb_connection = ovs_->remote(),
            .vhostuser_mount_point = kMountPoint,
            .ovs_vhu_path = ovs_->folder()};
  }
  std::vector<Interface> Connect(const vif::VifVHostUser& vif,
                                 const Attachment& attachment = PodAttachment(1)) {
    return driver_->Connect({driver_->Plan({"eth0", true, vif}), attachment, *pod_, Soon()});
  }
  void Disconnect(const vif::VifVHostUser& vif, const Attachment& attachment = PodAttachment(1)) {
    driver_->Disconnect(driver_->Plan({"eth0", true, vif}).plug, attachment, Soon());
  }
  std::string Failure(const vif::VifVHostUser& vif) {
    try {
      Connect(vif);
    } catch (const std::exception& e) {
      return e.what();
    }
    ADD_FAILURE() << "connected";
    return {};
  }
  std::optional<std::string> Check(const vif::VifVHostUser& vif) {
    return FirstOf(
        driver_->Check({driver_->Plan({"eth0", true, vif}), PodAttachment(1), *pod_, Soon()}));
  }
  std::string Vsctl(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"--no-wait"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return ovs_->Vsctl(all);
  }
  std::string Get(const std::string& column) {
    return Vsctl({"get", "Interface", kNeutronPort, column});
  }
  static vif::VifVHostUser Vif(vif::VHostUserMode mode) {
    return test::VhostUserVif(1, mode, kMountPoint);
  }
  static std::string Name() { return "name=" + std::string(kNeutronPort); }
  static fs::path SocketPath() { return fs::path(kMountPoint) / kNeutronPort; }
  static std::string FileOf(int n) {
    return fs::path(kMountPoint) / ("container-" + std::to_string(n) + "-eth0");
  }
  /// The database's bridges and interfaces, and the files: what must not change.
  std::string State() {
    std::string state = Vsctl({"--columns=name,ports", "list", "Bridge"}) + "\n" +
                        Vsctl({"--columns=_uuid,name,external_ids", "list", "Interface"});
    for (const auto& entry : fs::directory_iterator(kMountPoint))
      state += "\n" + entry.path().string();
    return state;
  }

  std::optional<test::PrivateOvs> ovs_;
  Shared shared_;
  std::unique_ptr<Driver> driver_;
  std::optional<Netns> pod_;
};

}  // namespace kuryr::binding
