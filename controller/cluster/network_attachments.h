#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/cluster/askers.h"
#include "controller/kinds/watched_kind.h"

namespace kuryr::controller {

/// The annotation that kuryr-kubernetes reads on a NetworkAttachmentDefinition.
inline constexpr const char* kKuryrConfigAnnotation = "openstack.org/kuryr-config";

/// The network that a NetworkAttachmentDefinition names, as InterfaceRequest::network has it; empty
/// if it is another plugin's. Throws ParseError.
[[nodiscard]] std::string NetworkNamedBy(const nlohmann::json& definition);

/// The network that each NetworkAttachmentDefinition names: in the annotation
/// kKuryrConfigAnnotation, else in the section `kuryr` of spec.config (of a list's first plugin).
/// Its form is {"pool": NAME} or {"subnetId": UUID}. Other fields are not kept. Thread-safe.
class NetworkAttachments : public WatchedResource {
 public:
  /// Wakes a pod that asked in vain, once the answer may differ.
  explicit NetworkAttachments(const KindParts& parts)
      : WatchedResource("NetworkAttachmentDefinition"), wake_(parts.wake) {}

  [[nodiscard]] std::vector<WatchedPath> Paths() override;

  /// The network's name, for the pod `asker`. nullopt: the definition names none, and belongs to
  /// another plugin. PlanError kGone if there is no such definition, kRefused if it cannot be
  /// read; then `asker` is remembered.
  [[nodiscard]] std::optional<std::string> Find(const std::string& name_space,
                                                const std::string& name, const Key& asker)
      EXCLUDES(mutex_);

  /// The number of pairs of a definition and a pod that asked for it.
  [[nodiscard]] size_t waiting() const EXCLUDES(mutex_);

 protected:
  void OnPresent(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  void OnDeleted(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

 private:
  struct Definition {
    std::string network;
    std::string problem;  ///< why the definition cannot be read
  };

  const Wake wake_;
  mutable Mutex mutex_;
  std::map<std::string, Definition> definitions_ GUARDED_BY(mutex_);
  Askers askers_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller
