#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "watcher/api_config.h"

namespace kuryr::watcher {

/// An ApiConfig from kubeconfigs that may change while the program runs. It reads them again when
/// one of them has changed. A malformed kubeconfig, such as a half-written one, leaves the config
/// unchanged until the next change. Thread-safe.
class ApiSource {
 public:
  /// Reads the kubeconfigs; throws for a malformed one.
  using Read = std::function<ApiConfig()>;

  /// `files` are paths separated by ':'; some may be missing. Throws what `read` throws.
  ApiSource(const std::string& files, Read read);

  /// The config of the files as they are now.
  [[nodiscard]] std::shared_ptr<const ApiConfig> Newest() EXCLUDES(mutex_);

 private:
  [[nodiscard]] std::string Version() const;
  void ReadAnew() REQUIRES(mutex_);

  const std::vector<std::string> files_;
  const Read read_;
  Mutex mutex_;
  std::string version_ GUARDED_BY(mutex_);  ///< that was read last, or could not be
  std::shared_ptr<const ApiConfig> newest_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::watcher
