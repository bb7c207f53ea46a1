#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "tests/fake_apiserver/object_store.h"
#include "tests/fake_apiserver/resource.h"

namespace kuryr::fake {

/// The part of an object that a write reaches. kAll is for tests, which may set a status at once.
enum class Part { kObject, kStatus, kAll };

struct DeleteOptions {
  std::optional<int64_t> grace_seconds;  // else the pod's own
  std::string uid;                       // precondition, unless empty
};

struct Deletion {
  Object object;         // as the deletion left it
  bool at_once = false;  // it was deleted without being marked first; never for pods
};

/// The API server's rules for writing objects, on top of the store: metadata, defaults, conflicts,
/// finalizers, graceful deletion. Thread-safe. Everything throws Refusal for what it does not do.
class Registry {
 public:
  /// Changes an object; `present` is complete.
  using Edit = std::function<nlohmann::json(const nlohmann::json& present)>;

  explicit Registry(ObjectStore& store) : store_(store) {}

  /// `manager` is the user agent's name, as managedFields has it.
  Object Create(const Resource& resource, const std::string& ns, nlohmann::json object, Part part,
                const std::string& manager);
  /// Without a change, the object is not written and keeps its version.
  Object Update(const Resource& resource, const ObjectKey& key, const Edit& edit, Part part,
                const std::string& manager);
  Deletion Delete(const Resource& resource, const ObjectKey& key, const DeleteOptions& options);

 private:
  ObjectStore& store_;
};

[[nodiscard]] ObjectKey KeyOf(const Resource& resource, const std::string& ns,
                              const std::string& name);

}  // namespace kuryr::fake
