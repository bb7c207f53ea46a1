#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "watcher/dispatcher.h"

namespace kuryr::watcher {

/// A handler that names the events that it wants. (kuryr_kubernetes/handlers/dispatch.py,
/// EventConsumer)
class EventConsumer : public EventHandler {
 public:
  [[nodiscard]] virtual std::vector<std::pair<KeyFn, std::string>> Consumes() const = 0;
};

/// The entry of events: a dispatcher, with each consumer wrapped as its pipeline wants (logging,
/// retry, ...). Consumers are borrowed and outlive the pipeline. Handle is as thread-safe as the
/// consumers; call Register before the first event.
class EventPipeline : public EventHandler {
 public:
  void Register(EventConsumer& consumer);
  void Handle(const WatchEvent& event) override { dispatcher_.Handle(event); }

 protected:
  /// The handler that stands before `consumer`; null: the consumer itself.
  [[nodiscard]] virtual std::unique_ptr<EventHandler> Wrap(EventConsumer& consumer);

 private:
  std::vector<std::unique_ptr<EventHandler>> wrappers_;
  Dispatcher dispatcher_;
};

/// Turns the events of one kind of object into calls: ADDED → OnAdded and OnPresent, MODIFIED →
/// OnModified and OnPresent, DELETED → OnDeleted. Override the calls that you need.
/// (kuryr_kubernetes/handlers/k8s_base.py)
class ResourceEventHandler : public EventConsumer {
 public:
  explicit ResourceEventHandler(std::string object_kind) : object_kind_(std::move(object_kind)) {}

  [[nodiscard]] std::vector<std::pair<KeyFn, std::string>> Consumes() const override;
  void Handle(const WatchEvent& event) override;

 protected:
  virtual void OnAdded(const WatchEvent& /*event*/) {}
  virtual void OnModified(const WatchEvent& /*event*/) {}
  virtual void OnPresent(const WatchEvent& /*event*/) {}
  virtual void OnDeleted(const WatchEvent& /*event*/) {}

 private:
  const std::string object_kind_;
};

}  // namespace kuryr::watcher
