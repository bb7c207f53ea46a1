#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/thread_annotations.h"
#include "controller/cluster/askers.h"
#include "watcher/event_pipeline.h"

namespace kuryr::controller {

/// The original's, on a NetworkAttachmentDefinition.
inline constexpr const char* kKuryrConfigAnnotation = "openstack.org/kuryr-config";

/// Which network each NetworkAttachmentDefinition of the cluster names: the annotation
/// kKuryrConfigAnnotation, or without it the section `kuryr` of spec.config (of a list's first
/// plugin), as {"pool": NAME} or {"subnetId": UUID}. Nothing else of them is kept. Thread-safe.
class NetworkAttachments : public watcher::ResourceEventHandler {
 public:
  using Wake = std::function<void(const std::string& key)>;

  /// `wake` is called for who asked in vain once the answer may be another one.
  explicit NetworkAttachments(Wake wake)
      : ResourceEventHandler("NetworkAttachmentDefinition"), wake_(std::move(wake)) {}

  /// The network's name, for `asker`. nullopt: the definition names none, and is another plugin's.
  /// BackendError kGone where there is no such definition, kRefused where it cannot be read; then
  /// `asker` is remembered.
  [[nodiscard]] std::optional<std::string> Find(const std::string& name_space,
                                                const std::string& name, const std::string& asker)
      EXCLUDES(mutex_);

  /// How many times somebody is to be woken.
  [[nodiscard]] size_t waiting() const EXCLUDES(mutex_);

 protected:
  void OnPresent(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  void OnDeleted(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

 private:
  struct Definition {
    std::string network;
    std::string problem;  ///< why it cannot be read
  };

  const Wake wake_;
  mutable Mutex mutex_;
  std::map<std::string, Definition> definitions_ GUARDED_BY(mutex_);
  Askers askers_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller
