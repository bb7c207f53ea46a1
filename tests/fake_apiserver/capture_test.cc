#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/fake_apiserver/captures.h"
#include "tests/fake_apiserver/fake_api_server.h"
#include "tests/fake_apiserver/raw_client.h"

// The fake gets the bytes that a kube-apiserver got, in a similar state, and has to answer alike.
// These captures are not covered, since the fake does not speak them: watch-protobuf, get-as-table,
// list-gzip, watch-410-nocache (another wording of the same 410).

namespace kuryr::fake {
namespace {

using nlohmann::json;

/// The users of the captures.
std::vector<User> CaptureUsers() {
  return {{.name = "admin", .token = "admintoken"},
          {.name = "nobody", .token = "nobodytoken", .verbs = {}}};
}

RawAnswer Replay(const FakeApiServer& server, const std::string& capture) {
  return Exchange(server.port(), LoadCapture(capture).request);
}

void ExpectSameObject(const std::string& name, const RawAnswer& answer) {
  const Capture capture = LoadCapture(name);
  EXPECT_EQ(ComparableHead(answer), ComparableHead(capture.answer)) << name;
  EXPECT_EQ(Comparable(json::parse(answer.body)), Comparable(json::parse(capture.answer.body)))
      << name;
  EXPECT_TRUE(answer.complete) << name;
}

json CapturedPod(const std::string& name) {
  json pod = json::parse(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {},
      "spec": {"nodeName": "nonode", "terminationGracePeriodSeconds": 0,
               "containers": [{"name": "c", "image": "local/pause:1",
                               "imagePullPolicy": "Never"}]}})");
  pod["metadata"]["name"] = name;
  return pod;
}

// ---- answers that do not depend on objects: equal byte for byte

class SameBytesTest : public testing::TestWithParam<const char*> {};

TEST_P(SameBytesTest, AsCaptured) {
  const FakeApiServer server(
      {.users = CaptureUsers(), .first_resource_version = 200, .pace = {.second = {}}});
  const Capture capture = LoadCapture(GetParam());

  const RawAnswer answer = Exchange(server.port(), capture.request);

  EXPECT_EQ(ComparableHead(answer), ComparableHead(capture.answer));
  EXPECT_EQ(answer.body, capture.answer.body);
  EXPECT_EQ(answer.complete, capture.answer.complete);
}

INSTANTIATE_TEST_SUITE_P(Captures, SameBytesTest,
                         testing::Values("version", "get-401-badtoken", "watch-401-badtoken",
                                         "watch-403-anonymous", "watch-403-nobody",
                                         "patch-403-nobody", "watch-400-fieldselector",
                                         "watch-500-rv-bad", "list-504-rv-too-large", "get-pod-404",
                                         "patch-pod-404", "delete-pod-404", "crd-get-404"),
                         CaptureName);

class AfterCompactionTest : public testing::TestWithParam<const char*> {};

TEST_P(AfterCompactionTest, AsCaptured) {
  const FakeApiServer server({.first_resource_version = 220});
  const Capture capture = LoadCapture(GetParam());

  const RawAnswer answer = Exchange(server.port(), capture.request);

  EXPECT_EQ(ComparableHead(answer), ComparableHead(capture.answer));
  EXPECT_EQ(answer.body, capture.answer.body);
  EXPECT_EQ(answer.chunks, capture.answer.chunks);
  EXPECT_EQ(answer.complete, capture.answer.complete);
}

INSTANTIATE_TEST_SUITE_P(Captures, AfterCompactionTest,
                         testing::Values("watch-410-rv1", "watch-410-after-apiserver-restart",
                                         "list-410-exact"),
                         CaptureName);

TEST(MissingResourceTest, IsAPageThatIsNotFound) {
  const FakeApiServer server({.custom_resources = {}});
  const Capture capture = LoadCapture("get-404-noresource");

  const RawAnswer answer = Exchange(server.port(), capture.request);

  EXPECT_EQ(ComparableHead(answer), ComparableHead(capture.answer));
  EXPECT_EQ(answer.body, capture.answer.body);
}

// ---- the life of a pod, in the order of the captures: even the versions are equal

/// Runs the pod's life up to the step `last`; returns the server's answer to it.
RawAnswer LivePod(FakeApiServer& server, const std::string& last) {
  const auto annotate = [&](const json& annotations) {
    server.Patch("pods", "default", "x", {{"metadata", {{"annotations", annotations}}}});
  };
  for (const char* step :
       {"list-empty", "post-pod-201", "post-pod-409-exists", "patch-annotation-200", "k=v2",
        "put-pod-409-conflict", "patch-415-mediatype", "patch-422-invalid", "patch-500-badjson",
        "jsonpatch-422-testfailed", "patch-status-200", "k gone", "get-pod-200", "list-one-200",
        "pod y", "delete-pod-200", "the end"}) {
    const std::string name = step;
    if (name == "k=v2") {
      annotate({{"k", "v2"}});
    } else if (name == "k gone") {
      annotate({{"k", nullptr}});
    } else if (name == "pod y") {
      server.Create(CapturedPod("y"));
    } else if (name != "the end") {
      RawAnswer answer = Replay(server, name);
      if (name == last) return answer;
    }
  }
  return {};
}

class PodLifeTest : public testing::TestWithParam<const char*> {
 protected:
  FakeApiServer server_{{.first_resource_version = 192}};
};

TEST_P(PodLifeTest, AnswersAsCaptured) {
  ExpectSameObject(GetParam(), LivePod(server_, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Captures, PodLifeTest,
                         testing::Values("list-empty", "post-pod-201", "post-pod-409-exists",
                                         "patch-annotation-200", "put-pod-409-conflict",
                                         "patch-415-mediatype", "patch-500-badjson",
                                         "jsonpatch-422-testfailed", "patch-status-200",
                                         "get-pod-200", "list-one-200", "delete-pod-200"),
                         CaptureName);

TEST_F(PodLifeTest, ForbiddenChangeIsNamedAsCapturedUpToGosDiff) {
  const Capture capture = LoadCapture("patch-422-invalid");
  const auto without_diff = [](const std::string& body) {
    json status = json::parse(body);
    json& cause = status["details"]["causes"][0]["message"];
    cause = cause.get<std::string>().substr(0, cause.get<std::string>().find('\n'));
    const std::string message = status["message"].get<std::string>();
    status["message"] = message.substr(0, message.find('\n'));
    return status;
  };

  const RawAnswer answer = LivePod(server_, "patch-422-invalid");

  EXPECT_EQ(ComparableHead(answer), ComparableHead(capture.answer));
  EXPECT_EQ(without_diff(answer.body), without_diff(capture.answer.body));
}

// ---- the life of a KuryrPort

RawAnswer LivePort(FakeApiServer& server, const std::string& last) {
  for (const char* step :
       {"crd-get-404", "crd-post-201", "crd-post-409", "crd-patch-status-200", "crd-get-200",
        "crd-list-200", "crd-strategic-415", "crd-delete-finalizer", "crd-get-deleting"}) {
    RawAnswer answer = Replay(server, step);
    if (last == step) return answer;
  }
  server.Patch("kuryrports", "default", "x", {{"metadata", {{"finalizers", nullptr}}}});
  return {};
}

class PortLifeTest : public testing::TestWithParam<const char*> {
 protected:
  FakeApiServer server_{{.first_resource_version = 959}};
};

TEST_P(PortLifeTest, AnswersAsCaptured) {
  ExpectSameObject(GetParam(), LivePort(server_, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Captures, PortLifeTest,
                         testing::Values("crd-post-201", "crd-post-409", "crd-patch-status-200",
                                         "crd-get-200", "crd-list-200", "crd-strategic-415",
                                         "crd-delete-finalizer", "crd-get-deleting"),
                         CaptureName);

// ---- what a kubelet wrote

TEST(NodeObjectsTest, ComeChunkedAsCaptured) {
  for (const char* name : {"node-get-node", "node-get-running-pod"}) {
    const Capture capture = LoadCapture(name);
    FakeApiServer server;
    json object = json::parse(capture.answer.body);
    object["metadata"].erase("resourceVersion");
    server.Create(object);

    const RawAnswer answer = Exchange(server.port(), capture.request);

    EXPECT_EQ(ComparableHead(answer), ComparableHead(capture.answer)) << name;
    EXPECT_EQ(ComparableAnyVersion(json::parse(answer.body)),
              ComparableAnyVersion(json::parse(capture.answer.body)))
        << name;
    EXPECT_EQ(answer.chunks.size(), capture.answer.chunks.size()) << name;
  }
}

}  // namespace
}  // namespace kuryr::fake
