#include "watcher/object_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kuryr::watcher {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

json Pod(const std::string& name, const std::string& uid, const std::string& version) {
  return {{"metadata",
           {{"namespace", "default"}, {"name", name}, {"uid", uid}, {"resourceVersion", version}}}};
}

class ObjectSetTest : public ::testing::Test {
 protected:
  void Event(EventType type, json pod) {
    pod["kind"] = "Pod";
    set_.Take(MakeEvent(type, std::move(pod)));
  }
  void List(const std::vector<std::vector<json>>& pages) {
    set_.BeginList();
    for (const auto& items : pages) {
      for (const json& item : items) Event(EventType::kAdded, item);
    }
    set_.EndList();
  }
  std::vector<std::string> Told() { return std::exchange(told_, {}); }

 private:
  std::vector<std::string> told_;

 protected:
  ObjectSet set_{[this](const WatchEvent& event) {
    static constexpr const char* kNames[] = {"ADDED", "MODIFIED", "DELETED"};
    told_.push_back(std::string(kNames[static_cast<size_t>(event.type)]) + " " + event.kind + " " +
                    event.name_space + "/" + event.name + " " + event.uid + " " +
                    event.resource_version);
  }};
};

TEST_F(ObjectSetTest, TheFirstListIsAllAdded) {
  List({{Pod("a", "1", "10")}, {Pod("b", "2", "11")}});

  EXPECT_THAT(Told(), ElementsAre("ADDED Pod default/a 1 10", "ADDED Pod default/b 2 11"));
}

TEST_F(ObjectSetTest, TheSameListAgainTellsNothing) {
  List({{Pod("a", "1", "10")}});
  Told();

  List({{Pod("a", "1", "10")}});

  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(ObjectSetTest, ALaterListTellsTheDifference) {
  List({{Pod("gone", "1", "10"), Pod("changed", "2", "10"), Pod("same", "3", "10")}});
  Told();

  List({{Pod("changed", "2", "20")}, {Pod("same", "3", "10"), Pod("new", "4", "21")}});

  EXPECT_THAT(Told(), ElementsAre("MODIFIED Pod default/changed 2 20", "ADDED Pod default/new 4 21",
                                  "DELETED Pod default/gone 1 10"));
  EXPECT_EQ(set_.size(), 3U);
}

TEST_F(ObjectSetTest, AnotherUidUnderAKnownNameIsDeletedAndAdded) {
  List({{Pod("a", "1", "10")}});
  Told();

  List({{Pod("a", "2", "20")}});

  EXPECT_THAT(Told(), ElementsAre("DELETED Pod default/a 1 10", "ADDED Pod default/a 2 20"));
}

TEST_F(ObjectSetTest, WhatTheWatchSaidCountsForTheNextList) {
  List({{Pod("a", "1", "10")}});
  Event(EventType::kModified, Pod("a", "1", "11"));
  Event(EventType::kAdded, Pod("b", "2", "12"));
  Event(EventType::kDeleted, Pod("a", "1", "13"));
  Told();

  List({{Pod("b", "2", "12")}});

  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(ObjectSetTest, AnEventHeardTwiceIsToldOnce) {
  Event(EventType::kAdded, Pod("a", "1", "10"));
  Event(EventType::kAdded, Pod("a", "1", "10"));
  Event(EventType::kAdded, Pod("a", "1", "11"));

  EXPECT_THAT(Told(), ElementsAre("ADDED Pod default/a 1 10", "MODIFIED Pod default/a 1 11"));
}

TEST_F(ObjectSetTest, AListCutShortDeletesNothing) {
  List({{Pod("a", "1", "10"), Pod("b", "2", "10")}});
  Told();

  set_.BeginList();
  Event(EventType::kAdded, Pod("a", "1", "20"));
  List({{Pod("a", "1", "20"), Pod("b", "2", "10")}});

  EXPECT_THAT(Told(), ElementsAre("MODIFIED Pod default/a 1 20"));
}

TEST_F(ObjectSetTest, AnItemThatCannotBeReadStaysWhatItWas) {
  List({{Pod("a", "1", "10"), Pod("b", "2", "10")}});
  Told();

  set_.BeginList();
  set_.Keep("default", "a");
  set_.Keep("default", "never-heard-of");
  set_.EndList();

  EXPECT_THAT(Told(), ElementsAre("DELETED Pod default/b 2 10"));
  EXPECT_EQ(set_.size(), 1U);
}

}  // namespace
}  // namespace kuryr::watcher
