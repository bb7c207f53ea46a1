#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kuryr::cni {

/// A plugin of a network configuration, and the versions of CNI that it knows.
struct PluginVersions {
  std::string type;               ///< as the list has it
  std::filesystem::path program;  ///< empty: no folder has it
  /// Its answer to VERSION. Without one 1.0.0 and older are assumed: every plugin of the last years
  /// knows these.
  std::vector<std::string> versions;
  std::string problem;  ///< why it has not answered

  [[nodiscard]] bool Knows(const std::string& version) const;
};

/// Asks every plugin of `list`, and every IPAM plugin in it, but kuryr-cni itself. Takes the first
/// program in `folders`, as runtimes do. A program that hangs has 5 s.
[[nodiscard]] std::vector<PluginVersions> AskVersions(
    const nlohmann::ordered_json& list, const std::vector<std::filesystem::path>& folders);

}  // namespace kuryr::cni
