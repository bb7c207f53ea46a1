#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "config/node_network_options.h"
#include "controller/backends/backend_factory.h"
#include "controller/kinds/key.h"
#include "controller/plan/plan_places.h"
#include "service/metrics_text.h"
#include "watcher/event_pipeline.h"
#include "watcher/watch_loop.h"

namespace kuryr::controller {

/// A path of the API server that is watched.
struct WatchedPath {
  std::string path;
  watcher::WatchMode mode = watcher::WatchMode::kOptionalSet;
  /// A log names objects so that may not be read, and count as absent. Empty: the watch fails.
  std::string forbidden;
  std::function<void(const std::string& reason)> refuse = nullptr;  ///< called instead of the log
};

/// The facts and the hook that a kind is made of.
struct KindParts {
  BackendNeeds needs = {};
  NodeNetworkOptions node_network = {};
  Wake wake = [](const Key&) {};
};

/// A term of leading, as kinds hear of it.
struct Term {
  Backend& backend;  ///< new
  PlanPlaces places = {};
};

/// A kind of object that the controller watches: a store of what the watches have told. It wakes
/// the keys of what a change may concern. While this process leads, it tells the backend.
/// Thread-safe.
class WatchedKind : public watcher::EventConsumer {
 public:
  /// Other kinds may watch the same paths. The first one in KindTable decides how.
  [[nodiscard]] virtual std::vector<WatchedPath> Paths() = 0;
  /// Tells the backend what is known, and from now on of each change. All paths have been read, and
  /// the kinds before this one in KindTable have told what they know.
  virtual void BeginTerm(const Term& /*term*/) {}
  /// After the return, the backend is not used any more.
  virtual void EndTerm() {}
  virtual void WriteTo(service::MetricsText& /*text*/) const {}
};

/// A kind whose events are of one kind of the API's objects.
class WatchedResource : public WatchedKind {
 public:
  explicit WatchedResource(std::string object_kind) : object_kind_(std::move(object_kind)) {}

  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override {
    return {{watcher::ObjectKind, object_kind_}};
  }
  void Handle(const watcher::WatchEvent& event) override {
    if (event.type == watcher::EventType::kDeleted) return OnDeleted(event);
    OnPresent(event);
  }

 protected:
  virtual void OnPresent(const watcher::WatchEvent& event) = 0;
  virtual void OnDeleted(const watcher::WatchEvent& event) = 0;

 private:
  const std::string object_kind_;
};

}  // namespace kuryr::controller
