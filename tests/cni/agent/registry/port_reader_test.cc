// What a KuryrPort costs the API server.
#include "cni/agent/registry/port_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/fake_apiserver/fake_api_server.h"
#include "tests/watcher/listener.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using watcher::Listener;
using Outcome = PortReader::Outcome;

constexpr const char* kPorts = "/apis/openstack.org/v1/namespaces/default/kuryrports";

class PortReaderTest : public ::testing::Test {
 protected:
  void Create(const std::string& name) {
    server_.Create({{"apiVersion", "openstack.org/v1"},
                    {"kind", "KuryrPort"},
                    {"metadata", {{"name", name}}},
                    {"spec", json::object()}});
  }
  void Hide(int count) {
    server_.Inject(
        {.verb = "list", .path_prefix = kPorts, .count = count, .answer = {.status = 404}});
  }
  std::vector<std::string> Asked() {
    std::vector<std::string> asked;
    for (const auto& request : server_.Requests())
      asked.push_back(request.verb + " " + request.target);
    return asked;
  }
  uint64_t Count(Outcome outcome) {
    return reader_.counts().questions.at(static_cast<size_t>(outcome));
  }
  static auto ByName(const std::string& verb, const std::string& name) {
    return AllOf(HasSubstr(verb + " "), HasSubstr("fieldSelector=metadata.name%3D" + name));
  }

  fake::FakeApiServer server_;
  Listener listener_;
  std::atomic<bool> complete_ = true;
  PortReader reader_{{.api_root = server_.url()},
                     {.handler = listener_,
                      .is_complete = [this](const std::string&) { return complete_.load(); },
                      .on_failure = listener_.OnFailure()}};
};

TEST_F(PortReaderTest, OneThatHasAllIsAskedForOnceByItsName) {
  for (const char* name : {"a", "web", "z"}) Create(name);

  reader_.Follow("default/web");
  EXPECT_THAT(listener_.WaitFor(1), ElementsAre("ADDED web"));
  reader_.Stop();

  EXPECT_THAT(Asked(), ElementsAre(ByName("list", "web")));
  EXPECT_EQ(Count(Outcome::kFound), 1U);
}

TEST_F(PortReaderTest, OneThatIsWaitedForIsWatchedByItsNameUntilNobodyDoes) {
  complete_ = false;
  reader_.Follow("default/web");
  ASSERT_TRUE(server_.WaitForWatches(1));
  Create("other");
  Create("web");
  EXPECT_THAT(listener_.WaitFor(2), ElementsAre("DELETED web", "ADDED web"));
  EXPECT_EQ(reader_.counts().watched, 1U);

  reader_.Unfollow("default/web");
  EXPECT_TRUE(server_.WaitForWatches(0));
  EXPECT_THAT(Asked(), ElementsAre(ByName("list", "web"), ByName("watch", "web")));
  EXPECT_EQ(reader_.counts().watched, 0U);
}

TEST_F(PortReaderTest, ItsWatchBeginsAtTheVersionOfTheAnswer) {
  complete_ = false;
  server_.Inject(fake::Fault::Lagging(kPorts, -1));
  reader_.Follow("default/web");
  ASSERT_TRUE(server_.WaitForWatches(1));
  Create("web");

  EXPECT_THAT(listener_.WaitFor(2), ElementsAre("DELETED web", "ADDED web"));
  EXPECT_THAT(Asked().back(), HasSubstr("resourceVersion="));
  EXPECT_EQ(reader_.counts().failed_watches, 0U);
}

TEST_F(PortReaderTest, WhatTheServerRefusesToWatchIsToldAndReadAgain) {
  complete_ = false;
  Create("web");
  fake::Fault refusal = fake::Fault::Status(500, "broken");
  refusal.verb = "watch";
  server_.Inject(refusal);
  reader_.Follow("default/web");
  ASSERT_TRUE(server_.WaitForWatches(1));

  EXPECT_THAT(listener_.WaitFor(2), ElementsAre("ADDED web", HasSubstr("500: ")));
  EXPECT_THAT(Asked(), ElementsAre(ByName("list", "web"), ByName("watch", "web"),
                                   ByName("list", "web"), ByName("watch", "web")));
  EXPECT_EQ(reader_.counts().failed_watches, 1U);
}

TEST_F(PortReaderTest, AnUnfollowThatIsAheadOfItsFollowLeavesNothing) {
  complete_ = false;
  Create("other");
  reader_.Unfollow("default/web");
  reader_.Follow("default/web");
  reader_.Follow("default/other");

  ASSERT_TRUE(server_.WaitForWatches(1));
  EXPECT_THAT(Asked(), ElementsAre(ByName("list", "other"), ByName("watch", "other")));
  EXPECT_EQ(reader_.counts().watched, 1U);
}

TEST_F(PortReaderTest, OfTwoWhoWaitTheSecondHearsOfItAnew) {
  Create("web");
  reader_.Follow("default/web");
  ASSERT_EQ(listener_.WaitFor(1).size(), 1U);

  reader_.Follow("default/web");

  EXPECT_THAT(listener_.WaitFor(2), ElementsAre("ADDED web", "ADDED web"));
}

TEST_F(PortReaderTest, WhereThereAreNoneTheyAreAskedForAgainWhileSomebodyWaits) {
  Create("web");
  Hide(1);
  reader_.Follow("default/web");

  EXPECT_THAT(listener_.WaitFor(2), ElementsAre("DELETED web", "ADDED web"));
  EXPECT_EQ(Count(Outcome::kAbsent), 1U);
  EXPECT_FALSE(reader_.counts().failing_since);
}

TEST_F(PortReaderTest, AFailureIsToldAndTriedAgain) {
  Create("web");
  server_.Inject(fake::Fault::Status(500, "broken"));
  reader_.Follow("default/web");

  EXPECT_THAT(listener_.WaitFor(2), ElementsAre(HasSubstr("500: "), "ADDED web"));
  EXPECT_EQ(Count(Outcome::kFailed), 1U);
}

TEST_F(PortReaderTest, WhatWasReadBeforeAndCannotBeAnyMoreIsTriedUntilItCan) {
  Create("web");
  reader_.Follow("default/web");
  ASSERT_EQ(listener_.WaitFor(1).size(), 1U);
  fake::Fault forbidden = fake::Fault::Status(403, "no right");
  forbidden.count = 2;
  server_.Inject(forbidden);
  reader_.Follow("default/web");
  ASSERT_EQ(listener_.WaitFor(2).size(), 2U);
  reader_.Unfollow("default/web");
  reader_.Unfollow("default/web");

  EXPECT_THAT(listener_.WaitFor(4).back(), "ADDED web");
  reader_.Stop();
  EXPECT_FALSE(reader_.counts().failing_since);
}

TEST_F(PortReaderTest, OneThatCannotBeReadCostsNoOther) {
  json deep = json::object();
  for (int i = 0; i < 100; ++i) deep = json{{"f", deep}};
  server_.Create({{"apiVersion", "openstack.org/v1"},
                  {"kind", "KuryrPort"},
                  {"metadata", {{"name", "deep"}}},
                  {"spec", deep}});
  Create("web");
  reader_.Follow("default/deep");
  reader_.Follow("default/web");

  EXPECT_THAT(listener_.WaitFor(1), ElementsAre("ADDED web"));
}

}  // namespace
}  // namespace kuryr::cni
