#pragma once

#include <string>
#include <vector>

#include "tests/fake_apiserver/http_message.h"
#include "tests/fake_apiserver/object_store.h"
#include "tests/fake_apiserver/registry.h"
#include "tests/fake_apiserver/resource.h"
#include "tests/fake_apiserver/watch.h"

namespace kuryr::fake {

/// The meaning of a request. `resource` is null if its path names none; `verb` is then the method
/// in lower case. `resources` outlives the answer.
[[nodiscard]] RequestInfo ParseRequestInfo(const std::vector<Resource>& resources,
                                           const HttpRequest& request);

/// The object name for which a request needs rights. For a list or a watch, it is the one that the
/// selector asks for, if any. Throws Refusal (400).
[[nodiscard]] std::string SelectedName(const RequestInfo& info, const HttpRequest& request);

/// Turns requests into calls of the registry, and its objects into answers. Thread-safe. Throws
/// Refusal.
class Api {
 public:
  Api(const std::vector<Resource>& resources, ObjectStore& store, Registry& registry,
      const Pace& pace, bool streams_lists)
      : resources_(resources),
        store_(store),
        registry_(registry),
        pace_(pace),
        streams_lists_(streams_lists) {}

  /// Answers /version, /healthz, /livez, /readyz.
  [[nodiscard]] Answer HandlePath(const HttpRequest& request) const;
  /// Answers every verb except watch.
  [[nodiscard]] Answer Handle(const RequestInfo& info, const HttpRequest& request);
  [[nodiscard]] WatchRequest ParseWatch(const RequestInfo& info, const HttpRequest& request) const;

 private:
  [[nodiscard]] Answer Get(const RequestInfo& info) const;
  [[nodiscard]] Answer List(const RequestInfo& info, const HttpRequest& request) const;
  [[nodiscard]] Answer Create(const RequestInfo& info, const HttpRequest& request);
  [[nodiscard]] Answer Update(const RequestInfo& info, const HttpRequest& request);
  [[nodiscard]] Answer Patch(const RequestInfo& info, const HttpRequest& request);
  [[nodiscard]] Answer Delete(const RequestInfo& info, const HttpRequest& request);

  const std::vector<Resource>& resources_;
  ObjectStore& store_;
  Registry& registry_;
  const Pace pace_;
  const bool streams_lists_;
};

}  // namespace kuryr::fake
