#include "watcher/dispatcher.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "watcher/event_pipeline.h"

namespace kuryr::watcher {
namespace {

class NameRecorder : public EventHandler {
 public:
  void Handle(const WatchEvent& event) override { names.push_back(event.name); }

  std::vector<std::string> names;
};

std::optional<std::string> Namespace(const WatchEvent& event) { return event.name_space; }

WatchEvent PodEvent(EventType type, const std::string& name = "x") {
  WatchEvent event;
  event.type = type;
  event.kind = "Pod";
  event.name_space = "default";
  event.name = name;
  return event;
}

TEST(DispatcherTest, AnEventGoesToTheHandlersOfItsKeyOnly) {
  Dispatcher dispatcher;
  NameRecorder pods;
  NameRecorder nodes;
  dispatcher.Register(ObjectKind, "Pod", pods);
  dispatcher.Register(ObjectKind, "Node", nodes);

  dispatcher.Handle(PodEvent(EventType::kAdded));

  EXPECT_EQ(pods.names, std::vector<std::string>{"x"});
  EXPECT_TRUE(nodes.names.empty());
}

TEST(DispatcherTest, AHandlerRegisteredUnderSeveralKeyFnsIsCalledOnce) {
  Dispatcher dispatcher;
  NameRecorder recorder;
  dispatcher.Register(ObjectKind, "Pod", recorder);
  dispatcher.Register(ObjectKind, "Pod", recorder);
  dispatcher.Register(Namespace, "default", recorder);

  dispatcher.Handle(PodEvent(EventType::kAdded));

  EXPECT_EQ(recorder.names.size(), 1U);
}

TEST(DispatcherTest, AnEventWithoutKeyMatchesNothing) {
  Dispatcher dispatcher;
  NameRecorder recorder;
  dispatcher.Register(ObjectKind, "", recorder);
  WatchEvent event;

  dispatcher.Handle(event);

  EXPECT_TRUE(recorder.names.empty());
}

TEST(DispatcherTest, AHandlerThatThrowsDoesNotKeepTheEventFromTheNext) {
  struct Broken : EventHandler {
    void Handle(const WatchEvent& /*event*/) override { throw std::runtime_error("broken"); }
  };
  Dispatcher dispatcher;
  Broken broken;
  NameRecorder recorder;
  dispatcher.Register(ObjectKind, "Pod", broken);
  dispatcher.Register(ObjectKind, "Pod", recorder);

  EXPECT_THROW(dispatcher.Handle(PodEvent(EventType::kAdded)), std::runtime_error);

  EXPECT_EQ(recorder.names.size(), 1U);
}

TEST(DispatcherTest, AHandlerMayRegisterAnotherFromInside) {
  struct Registrar : EventHandler {
    void Handle(const WatchEvent& /*event*/) override {
      dispatcher->Register(ObjectKind, "Pod", *next);
    }
    Dispatcher* dispatcher = nullptr;
    EventHandler* next = nullptr;
  };
  Dispatcher dispatcher;
  NameRecorder recorder;
  Registrar registrar;
  registrar.dispatcher = &dispatcher;
  registrar.next = &recorder;
  dispatcher.Register(ObjectKind, "Pod", registrar);

  dispatcher.Handle(PodEvent(EventType::kAdded, "first"));
  dispatcher.Handle(PodEvent(EventType::kAdded, "second"));

  EXPECT_EQ(recorder.names, std::vector<std::string>{"second"});
}

class Calls : public ResourceEventHandler {
 public:
  Calls() : ResourceEventHandler("Pod") {}

  std::vector<std::string> made;

 protected:
  void OnAdded(const WatchEvent& /*event*/) override { made.emplace_back("added"); }
  void OnModified(const WatchEvent& /*event*/) override { made.emplace_back("modified"); }
  void OnPresent(const WatchEvent& /*event*/) override { made.emplace_back("present"); }
  void OnDeleted(const WatchEvent& /*event*/) override { made.emplace_back("deleted"); }
};

TEST(EventPipelineTest, EventsBecomeCallsOnTheirConsumer) {
  EventPipeline pipeline;
  Calls calls;
  pipeline.Register(calls);

  for (const auto type : {EventType::kAdded, EventType::kModified, EventType::kDeleted,
                          EventType::kBookmark, EventType::kUnknown}) {
    pipeline.Handle(PodEvent(type));
  }

  EXPECT_EQ(calls.made,
            (std::vector<std::string>{"added", "present", "modified", "present", "deleted"}));
}

TEST(EventPipelineTest, APipelineWrapsItsConsumers) {
  struct Counting : EventHandler {
    explicit Counting(EventHandler& next) : next_(next) {}
    void Handle(const WatchEvent& event) override {
      next_.Handle(event);
      next_.Handle(event);
    }
    EventHandler& next_;
  };
  struct Twice : EventPipeline {
    std::unique_ptr<EventHandler> Wrap(EventConsumer& consumer) override {
      return std::make_unique<Counting>(consumer);
    }
  };
  Twice pipeline;
  Calls calls;
  pipeline.Register(calls);

  pipeline.Handle(PodEvent(EventType::kDeleted));

  EXPECT_EQ(calls.made.size(), 2U);
}

}  // namespace
}  // namespace kuryr::watcher
