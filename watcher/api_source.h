#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "watcher/api_config.h"

namespace kuryr::watcher {

/// An ApiConfig that comes from kubeconfigs, which somebody may renew while a program runs. They
/// are read anew where one of them is another than before. One that is malformed, as half of one
/// is, leaves the config as it was until the next change. Thread-safe.
class ApiSource {
 public:
  /// Throws what is wrong with them.
  using Read = std::function<ApiConfig()>;

  /// `files`: separated by ':', some of which need not be there. Throws what `read` does.
  ApiSource(const std::string& files, Read read);

  /// As the files are now.
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
