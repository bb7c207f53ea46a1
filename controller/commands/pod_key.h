#pragma once

#include <string>

namespace kuryr::controller {

/// A pod's "NAMESPACE/NAME" from a command line. Throws std::runtime_error for another text.
struct PodKey {
  explicit PodKey(const std::string& text);

  std::string name_space;
  std::string name;
};

}  // namespace kuryr::controller
