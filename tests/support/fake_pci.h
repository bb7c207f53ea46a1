#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "base/event_fd.h"
#include "base/unique_fd.h"

namespace kuryr::test {

/// A tree like /sys with one PCI network device "ens5" behind virtio. It reacts as the kernel does
/// when files are opened for writing (fanotify(7)): it loses and gets drivers, and with them its
/// link. Written text stays in the files. Needs CAP_SYS_ADMIN.
class FakePci {
 public:
  static constexpr const char* kDevice = "0000:00:05.0";
  static constexpr const char* kLink = "ens5";
  static constexpr const char* kKernelDriver = "virtio-pci";
  static constexpr const char* kDpdkDriver = "uio_pci_generic";

  /// Throws std::system_error where the kernel has no fanotify with permissions.
  FakePci(std::filesystem::path root, const std::string& mac);
  ~FakePci();
  FakePci(const FakePci&) = delete;
  FakePci& operator=(const FakePci&) = delete;

  /// Adds a link, of the PCI device `device`, or of none if it is empty.
  void AddLink(const std::string& name, const std::string& mac, const std::string& device);

  /// The name of the device's driver; "" if it has none.
  [[nodiscard]] std::string Driver() const;
  /// The text last written to the file, given below the root.
  [[nodiscard]] std::string Written(const std::string& file);

  /// From now on, writes to `file` alone fail with EPERM, or have no effect; "" ends that.
  void Refuse(const std::string& file);
  void Ignore(const std::string& file);

 private:
  void AddDriver(const std::string& name);
  void Watch(const std::filesystem::path& file) const;
  void BindTo(const std::string& driver) const;
  void Unbind() const;
  void React(const std::filesystem::path& file) const;
  bool Allow(const std::filesystem::path& file);
  void Run();

  std::filesystem::path root_;
  std::string mac_;
  std::mutex mutex_;
  std::filesystem::path refused_;      // guarded by mutex_
  std::filesystem::path ignored_;      // guarded by mutex_
  std::atomic<bool> reading_ = false;  // the test itself reads
  UniqueFd fanotify_;
  EventFd stop_;
  std::jthread kernel_;
};

}  // namespace kuryr::test
