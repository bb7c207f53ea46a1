#pragma once

#include <filesystem>
#include <utility>

namespace kuryr::devices {

/// Whether the node's devices are drained: no pod gets a free device. A file in [devices]
/// devinfo_dir marks that, until the node reboots. Throws std::system_error that names the path.
/// Not thread-safe.
class Drain {
 public:
  /// `folder` is [devices] devinfo_dir.
  explicit Drain(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] bool is_on() const;
  void Begin() const;
  void End() const;

 private:
  const std::filesystem::path folder_;
};

}  // namespace kuryr::devices
