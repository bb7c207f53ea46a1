#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "watcher/api_client.h"
#include "watcher/api_config.h"

namespace kuryr::cni {

/// A write to the API server that no request waits for.
struct ApiWrite {
  enum class Kind { kCreate, kMergePatch };

  Kind kind = Kind::kCreate;
  std::string path;
  nlohmann::json body;
};

/// Makes writes to the API server.
class ApiWriter {
 public:
  virtual ~ApiWriter() = default;

  /// Returns at once. The log alone tells how the write ends, at level debug (a dropped write:
  /// warning). Thread-safe. Throws std::system_error when the write cannot be started.
  virtual void WriteLater(ApiWrite write) = 0;
};

/// `config` with timeouts of 2 s.
[[nodiscard]] watcher::ApiConfig ForWrites(watcher::ApiConfig config);

/// Makes the write. When an Event's pod has no UID, asks the API server for it. Throws what
/// ApiClient throws.
void Send(ApiWrite write, watcher::ApiClient& client);

}  // namespace kuryr::cni
