#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/fake_apiserver/fake_api_server.h"
#include "tests/fake_apiserver/pod_named.h"
#include "tests/fake_apiserver/raw_client.h"

// Behaviour without captures: lists in pages, patches, preconditions, rights, events.

namespace kuryr::fake {
namespace {

using nlohmann::json;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kMerge = "application/merge-patch+json";

std::vector<std::string> NamesIn(const json& list) {
  std::vector<std::string> names;
  for (const json& item : list.at("items")) {
    names.push_back(item.at("metadata").at("name").get<std::string>());
  }
  return names;
}

class ApiTest : public testing::Test {
 protected:
  json GetJson(const std::string& target) { return json::parse(Get(server_.port(), target).body); }
  RawAnswer Send(const std::string& method, const std::string& target, const std::string& type,
                 const json& body) {
    return Exchange(server_.port(), Request(method, target, type, body.dump()));
  }

  FakeApiServer server_;
};

TEST_F(ApiTest, PagesShowTheListAsItWasAtTheFirst) {
  for (const char* name : {"a", "b", "c"}) server_.Create(PodNamed(name));

  const json first = GetJson("/api/v1/pods?limit=2");
  server_.Create(PodNamed("d"));
  server_.Delete("pods", "default", "c");
  const std::string token = first["metadata"]["continue"].get<std::string>();
  const json second = GetJson("/api/v1/pods?limit=2&continue=" + token);

  EXPECT_EQ(NamesIn(first), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(first["metadata"]["remainingItemCount"], 1);
  EXPECT_EQ(NamesIn(second), std::vector<std::string>{"c"});
  EXPECT_FALSE(second["metadata"].contains("continue"));
  EXPECT_EQ(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
}

TEST_F(ApiTest, AVersionMeansNothingOlderAndWithALimitExactlyThatOne) {
  server_.Create(PodNamed("a"));
  const std::string version = std::to_string(server_.resource_version());
  server_.Create(PodNamed("b"));
  const std::vector<std::string> past = {"a"};
  const std::vector<std::string> present = {"a", "b"};

  EXPECT_EQ(NamesIn(GetJson("/api/v1/pods?resourceVersion=" + version)), present);
  EXPECT_EQ(NamesIn(GetJson("/api/v1/pods?limit=5&resourceVersion=0")), present);
  EXPECT_EQ(NamesIn(GetJson("/api/v1/pods?limit=5&resourceVersionMatch=NotOlderThan" +
                            ("&resourceVersion=" + version))),
            present);
  const json exact = GetJson("/api/v1/pods?limit=5&resourceVersion=" + version);
  EXPECT_EQ(NamesIn(exact), past);
  EXPECT_EQ(exact["metadata"]["resourceVersion"], version);
}

TEST_F(ApiTest, ContinueTokenExpiresWithCompaction) {
  for (const char* name : {"a", "b"}) server_.Create(PodNamed(name));
  const json first = GetJson("/api/v1/pods?limit=1");
  server_.Create(PodNamed("c"));
  server_.Compact();

  const RawAnswer answer =
      Get(server_.port(),
          "/api/v1/pods?limit=1&continue=" + first["metadata"]["continue"].get<std::string>());

  EXPECT_EQ(answer.Status(), 410);
  EXPECT_EQ(json::parse(answer.body)["reason"], "Expired");
}

TEST_F(ApiTest, NamespacesAreApart) {
  server_.Create(PodNamed("a"));
  json other = PodNamed("a");
  other["metadata"]["namespace"] = "other";
  server_.Create(other);

  EXPECT_EQ(NamesIn(GetJson("/api/v1/pods")).size(), 2U);
  EXPECT_EQ(NamesIn(GetJson("/api/v1/namespaces/other/pods")).size(), 1U);
  EXPECT_EQ(Get(server_.port(), "/api/v1/namespaces/none/pods/a").Status(), 404);
}

TEST_F(ApiTest, PatchWithAnOldVersionIsAConflict) {
  const json pod = server_.Create(PodNamed("a"));
  server_.Patch("pods", "default", "a", {{"metadata", {{"labels", {{"l", "1"}}}}}});
  const json patch = {
      {"metadata",
       {{"resourceVersion", pod["metadata"]["resourceVersion"]}, {"labels", {{"l", "2"}}}}}};

  const RawAnswer answer = Send("PATCH", std::string(kPods) + "/a", kMerge, patch);

  EXPECT_EQ(answer.Status(), 409);
  EXPECT_EQ(server_.Get("pods", "default", "a")->at("metadata").at("labels").at("l"), "1");
}

TEST_F(ApiTest, PatchWithoutEffectTakesNoVersion) {
  server_.Create(PodNamed("a"));
  const uint64_t version = server_.resource_version();

  const RawAnswer answer =
      Send("PATCH", std::string(kPods) + "/a", kMerge, {{"spec", {{"nodeName", "n1"}}}});

  EXPECT_EQ(answer.Status(), 200);
  EXPECT_EQ(server_.resource_version(), version);
}

TEST_F(ApiTest, JsonPatchIsApplied) {
  server_.Create(PodNamed("a"));
  const json patch =
      json::array({{{"op", "test"}, {"path", "/spec/nodeName"}, {"value", "n1"}},
                   {{"op", "add"}, {"path", "/metadata/annotations"}, {"value", {{"k", "v"}}}}});

  const RawAnswer answer =
      Send("PATCH", std::string(kPods) + "/a", "application/json-patch+json", patch);

  EXPECT_EQ(answer.Status(), 200);
  EXPECT_EQ(json::parse(answer.body)["metadata"]["annotations"]["k"], "v");
}

TEST_F(ApiTest, StatusIsReachedOnlyThroughItsSubresource) {
  server_.Create(PodNamed("a"));
  const json patch = {{"status", {{"podIP", "10.0.0.1"}}}};

  const json through_object =
      json::parse(Send("PATCH", std::string(kPods) + "/a", kMerge, patch).body);
  const json through_status =
      json::parse(Send("PATCH", std::string(kPods) + "/a/status", kMerge, patch).body);

  EXPECT_FALSE(through_object["status"].contains("podIP"));
  EXPECT_EQ(through_status["status"]["podIP"], "10.0.0.1");
}

TEST_F(ApiTest, DeletionOfAnotherUidIsAConflict) {
  server_.Create(PodNamed("a"));

  const RawAnswer answer = Send("DELETE", std::string(kPods) + "/a", "application/json",
                                {{"preconditions", {{"uid", "another"}}}});

  EXPECT_EQ(answer.Status(), 409);
  EXPECT_TRUE(server_.Get("pods", "default", "a").has_value());
}

TEST_F(ApiTest, CustomResourceWithoutFinalizersGoesAtOnce) {
  const json port = server_.Create({{"apiVersion", "openstack.org/v1"},
                                    {"kind", "KuryrPort"},
                                    {"metadata", {{"name", "p"}}},
                                    {"spec", {{"podUid", "u"}}}});

  const RawAnswer answer = Send("DELETE", "/apis/openstack.org/v1/namespaces/default/kuryrports/p",
                                "application/json", json::object());

  EXPECT_EQ(answer.Status(), 200);
  EXPECT_EQ(json::parse(answer.body)["details"]["uid"], port["metadata"]["uid"]);
  EXPECT_FALSE(server_.Get("kuryrports", "default", "p").has_value());
}

TEST_F(ApiTest, EventsAreTakenAndListed) {
  const json event = {{"apiVersion", "v1"},
                      {"kind", "Event"},
                      {"metadata", {{"generateName", "a."}}},
                      {"involvedObject", {{"kind", "Pod"}, {"namespace", "default"}}},
                      {"reason", "Plugged"},
                      {"message", "eth0"}};

  const RawAnswer answer =
      Send("POST", "/api/v1/namespaces/default/events", "application/json", event);
  const json list = GetJson("/api/v1/namespaces/default/events?fieldSelector=reason%3DPlugged");

  EXPECT_EQ(answer.Status(), 201);
  ASSERT_EQ(list["items"].size(), 1U);
  EXPECT_TRUE(NamesIn(list).front().starts_with("a."));
}

TEST_F(ApiTest, EventOfAnotherNamespaceIsInvalid) {
  const json event = {{"metadata", {{"name", "a"}}}, {"involvedObject", {{"namespace", "other"}}}};

  EXPECT_EQ(Send("POST", "/api/v1/namespaces/default/events", "application/json", event).Status(),
            422);
}

TEST_F(ApiTest, WhatIsNotThereOrNotAllowedSaysSo) {
  EXPECT_EQ(Get(server_.port(), "/api/v1/namespaces/default/gadgets").Status(), 404);
  EXPECT_EQ(Get(server_.port(), "/apis/nowhere.org/v1/things").Status(), 404);
  EXPECT_EQ(Send("DELETE", kPods, "application/json", json::object()).Status(), 405);
  EXPECT_EQ(Send("POST", kPods, "application/json", PodNamed("No Name")).Status(), 422);
  EXPECT_EQ(Send("POST", kPods, "application/json", {{"metadata", 7}}).Status(), 400);
  EXPECT_EQ(Get(server_.port(), "/readyz").body, "ok");
}

TEST_F(ApiTest, KeptConnectionServesSeveralRequests) {
  RawClient client(server_.port());
  const std::string request = "GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n";

  client.Send(request + request);

  EXPECT_TRUE(client.ReadUntil("\r\n\r\nok").starts_with("HTTP/1.1 200 OK"));
  EXPECT_TRUE(client.ReadUntil("\r\n\r\nok").starts_with("HTTP/1.1 200 OK"));
}

TEST_F(ApiTest, GarbageIsABadRequest) {
  EXPECT_EQ(Exchange(server_.port(), "hello\r\n\r\n").Status(), 400);
}

TEST_F(ApiTest, RequestsAreLoggedAndWaitedFor) {
  static_cast<void>(Get(server_.port(), "/api/v1/pods?limit=1"));

  EXPECT_TRUE(server_.WaitForRequest("list", "/api/v1/pods"));
  ASSERT_EQ(server_.Requests().size(), 1U);
  EXPECT_EQ(server_.Requests().front().target, "/api/v1/pods?limit=1");
  EXPECT_FALSE(server_.WaitForRequest("patch", "", 1, std::chrono::milliseconds(0)));
}

TEST(AuthTest, RightsAreByVerbAndResource) {
  const FakeApiServer server(
      {.users = {{.name = "node", .token = "t", .verbs = {"list", "get:pods"}}}});
  const auto status = [&](const std::string& target) {
    return Exchange(server.port(), "GET " + target +
                                       " HTTP/1.1\r\nAuthorization: Bearer t\r\n"
                                       "Connection: close\r\n\r\n")
        .Status();
  };

  EXPECT_EQ(status("/api/v1/pods"), 200);
  EXPECT_EQ(status("/api/v1/namespaces/default/pods/x"), 404);
  EXPECT_EQ(status("/api/v1/nodes/x"), 403);
  EXPECT_EQ(status("/api/v1/pods?watch=1"), 403);
}

TEST(AuthTest, SelectedNameIsNamedInTheRefusal) {
  const FakeApiServer server({.users = {{.name = "u", .token = "t"}}});

  const RawAnswer answer = Get(server.port(), "/api/v1/pods?fieldSelector=metadata.name%3Dx");

  EXPECT_EQ(json::parse(answer.body)["message"],
            "pods \"x\" is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in "
            "API group \"\" at the cluster scope");
}

TEST(AuthTest, RotatedTokenIsRefused) {
  FakeApiServer server({.users = {{.name = "u", .token = "old"}}});
  const std::string request =
      "GET /api/v1/pods HTTP/1.1\r\nAuthorization: Bearer old\r\nConnection: close\r\n\r\n";
  const int before = Exchange(server.port(), request).Status();

  server.SetUsers({{.name = "u", .token = "new"}});

  EXPECT_EQ(before, 200);
  EXPECT_EQ(Exchange(server.port(), request).Status(), 401);
}

}  // namespace
}  // namespace kuryr::fake
