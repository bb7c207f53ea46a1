#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "watcher/api_client.h"
#include "watcher/api_config.h"

namespace kuryr::cni {

/// A write to the API server that no answer waits for.
struct ApiWrite {
  enum class Kind { kCreate, kMergePatch };

  Kind kind = Kind::kCreate;
  std::string path;
  nlohmann::json body;
};

/// Who makes such writes.
class ApiWriter {
 public:
  virtual ~ApiWriter() = default;

  /// Returns at once; what becomes of it is in the log only, at level debug (dropped ones:
  /// warning). Thread-safe. Throws std::system_error when it cannot be begun.
  virtual void WriteLater(ApiWrite write) = 0;
};

/// The same server, and no more patience than such a write is worth.
[[nodiscard]] watcher::ApiConfig ForWrites(watcher::ApiConfig config);

/// An Event whose pod has no UID gets the one that the API server knows. Throws what ApiClient
/// throws.
void Send(ApiWrite write, watcher::ApiClient& client);

}  // namespace kuryr::cni
