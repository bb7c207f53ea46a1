#pragma once

#include <filesystem>
#include <utility>

namespace kuryr::devices {

/// Whether the node's devices are drained: those that no pod has go to none. A file in
/// [devices] devinfo_dir says so, until the node is booted anew. Throws std::system_error that
/// names the path. Not thread-safe.
class Drain {
 public:
  /// `folder`: [devices] devinfo_dir.
  explicit Drain(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] bool is_on() const;
  void Begin() const;
  void End() const;

 private:
  const std::filesystem::path folder_;
};

}  // namespace kuryr::devices
