#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/fake_apiserver/captures.h"
#include "tests/fake_apiserver/fake_api_server.h"
#include "tests/fake_apiserver/raw_client.h"

// Compares watches of a kube-apiserver with the fake's: the same bytes open them while the same
// changes happen.

namespace kuryr::fake {
namespace {

using nlohmann::json;

std::vector<json> ComparableEvents(const RawAnswer& answer) {
  std::vector<json> events = ParseEvents(answer.body);
  for (json& event : events) event = Comparable(event);
  return events;
}

/// Each event as type, name, resourceVersion.
std::vector<std::string> Outline(const RawAnswer& answer) {
  std::vector<std::string> outline;
  for (const json& event : ParseEvents(answer.body)) {
    const json& metadata = event.at("object").at("metadata");
    outline.push_back(event.at("type").get<std::string>() + " " + metadata.value("name", "") + " " +
                      metadata.at("resourceVersion").get<std::string>());
  }
  return outline;
}

/// Opens the capture's watch, calls `happen`, and returns the answer.
RawAnswer Watch(FakeApiServer& server, const Capture& capture,
                const std::function<void()>& happen) {
  RawClient client(server.port());
  client.Send(capture.request);
  EXPECT_TRUE(server.WaitForWatches(1));
  happen();
  return ParseAnswer(client.ReadToEnd());
}

void ExpectSameStream(const RawAnswer& answer, const Capture& capture) {
  EXPECT_EQ(ComparableHead(answer), ComparableHead(capture.answer));
  EXPECT_EQ(Outline(answer), Outline(capture.answer));
  EXPECT_EQ(ComparableEvents(answer), ComparableEvents(capture.answer));
  EXPECT_EQ(answer.chunks.size(), capture.answer.chunks.size());
  EXPECT_EQ(answer.complete, capture.answer.complete);
}

json PodX(const json& metadata = json::object()) {
  json pod = json::parse(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"},
      "spec": {"nodeName": "nonode", "containers": [
          {"name": "c", "image": "local/pause:1", "imagePullPolicy": "Never"}]}})");
  pod["metadata"].update(metadata);
  return pod;
}

json QuickPod(const std::string& name, const json& metadata = json::object()) {
  json pod = PodX(metadata);
  pod["metadata"]["name"] = name;
  pod["spec"]["terminationGracePeriodSeconds"] = 0;
  return pod;
}

json Annotations(const json& annotations) { return {{"metadata", {{"annotations", annotations}}}}; }

/// Lets a pod live from creation to deletion, as watch-life-* saw it.
void LivePod(FakeApiServer& server) {
  for (const char* step : {"post-pod-201", "patch-annotation-200"}) {
    static_cast<void>(Exchange(server.port(), LoadCapture(step).request));
  }
  server.Patch("pods", "default", "x", Annotations({{"k", "v2"}}));
  static_cast<void>(Exchange(server.port(), LoadCapture("patch-status-200").request));
  server.Patch("pods", "default", "x", Annotations({{"k", nullptr}}));
  server.Create(QuickPod("y"));
  static_cast<void>(Exchange(server.port(), LoadCapture("delete-pod-200").request));
  server.BookmarkWatches();
  server.EndWatches();
}

TEST(WatchCaptureTest, LifeOfAPodFromAVersion) {
  const Capture capture = LoadCapture("watch-life-from-rv");
  FakeApiServer server({.first_resource_version = 192});

  const RawAnswer answer = Watch(server, capture, [&] { LivePod(server); });

  ExpectSameStream(answer, capture);
}

TEST(WatchCaptureTest, LifeOfAPodFromThePresentWithoutBookmarks) {
  const Capture capture = LoadCapture("watch-life-no-rv");
  FakeApiServer server({.first_resource_version = 192});

  const RawAnswer answer = Watch(server, capture, [&] { LivePod(server); });

  ExpectSameStream(answer, capture);
}

TEST(WatchCaptureTest, GracefulDeletionIsConfirmedByASecondDelete) {
  const Capture capture = LoadCapture("watch-graceful-delete");
  FakeApiServer server({.first_resource_version = 204});
  server.Create(PodX());
  const auto erase = [&](const std::string& query) {
    const std::string target = "/api/v1/namespaces/default/pods/x" + query;
    EXPECT_EQ(Exchange(server.port(), Request("DELETE", target, "application/json", "")).Status(),
              200);
  };

  const RawAnswer answer = Watch(server, capture, [&] {
    erase("");
    erase("?gracePeriodSeconds=0");
    server.EndWatches();
  });

  ExpectSameStream(answer, capture);
}

TEST(WatchCaptureTest, LifeOfAKuryrPort) {
  const Capture capture = LoadCapture("crd-watch-all");
  FakeApiServer server({.first_resource_version = 959});

  const RawAnswer answer = Watch(server, capture, [&] {
    for (const char* step : {"crd-post-201", "crd-patch-status-200", "crd-delete-finalizer"}) {
      static_cast<void>(Exchange(server.port(), LoadCapture(step).request));
    }
    server.Patch("kuryrports", "default", "x", {{"metadata", {{"finalizers", nullptr}}}});
    server.BookmarkWatches();
    server.EndWatches();
  });

  ExpectSameStream(answer, capture);
}

TEST(WatchCaptureTest, EventOfTwoHundredKilobytesIsOneChunk) {
  const Capture capture = LoadCapture("watch-big");
  const json big = ParseEvents(capture.answer.body).at(1).at("object");
  FakeApiServer server({.first_resource_version = 200});
  server.Create(QuickPod("big"));

  const RawAnswer answer = Watch(server, capture, [&] {
    server.Patch("pods", "default", "big", Annotations(big["metadata"]["annotations"]));
    server.EndWatches();
  });

  ExpectSameStream(answer, capture);
}

TEST(WatchCaptureTest, PresentStateComesInTheOrderOfNames) {
  const Capture capture = LoadCapture("watch-acceptgzip");
  const json big = ParseEvents(capture.answer.body).at(0).at("object");
  FakeApiServer server({.first_resource_version = 197});
  server.Create(QuickPod("y"));
  for (int i = 199; i < 202; ++i) server.Create(QuickPod("z" + std::to_string(i)));
  server.Create(QuickPod("big", {{"annotations", big["metadata"]["annotations"]}}));
  for (int i = 199; i < 202; ++i) server.Delete("pods", "default", "z" + std::to_string(i));

  const RawAnswer answer = Watch(server, capture, [&] { server.EndWatches(); });

  ExpectSameStream(answer, capture);
}

TEST(WatchCaptureTest, VersionZeroMeansThePresentState) {
  const Capture capture = LoadCapture("watch-nocache-rv0");
  FakeApiServer server({.first_resource_version = 222});
  server.Create(QuickPod("x", {{"labels", {{"l", "1"}}}, {"annotations", {{"n", "c2"}}}}));

  const RawAnswer answer = Watch(server, capture, [&] {
    server.Patch("pods", "default", "x", Annotations({{"n", "nc"}}));
    server.EndWatches();
  });

  ExpectSameStream(answer, capture);
}

TEST(WatchCaptureTest, KilledServerSendsNoLastChunk) {
  const Capture capture = LoadCapture("watch-apiserver-sigterm");
  FakeApiServer server({.first_resource_version = 219});
  server.Create(QuickPod("x", {{"labels", {{"l", "1"}}}, {"annotations", {{"n", "4"}}}}));

  const RawAnswer answer = Watch(server, capture, [&] { server.DropWatches(); });

  ExpectSameStream(answer, capture);
  EXPECT_FALSE(answer.complete);
}

/// Makes the change that led to a captured event; a deletion's steps follow the server's own rules.
void Repeat(FakeApiServer& server, const json& event) {
  json object = event.at("object");
  const json& metadata = object.at("metadata");
  if (event.at("type") == "ADDED") {
    object["metadata"].erase("resourceVersion");
    server.Create(object);
    return;
  }
  if (event.at("type") != "MODIFIED") return;
  const std::string name = metadata.at("name").get<std::string>();
  const json present = server.Get("pods", "default", name).value();
  const json grace = metadata.value("deletionGracePeriodSeconds", json());
  if (grace != present["metadata"].value("deletionGracePeriodSeconds", json())) {
    server.Delete("pods", "default", name, grace.get<int64_t>());
    return;
  }
  json patch = {{"status", object["status"]}};
  if (metadata.contains("annotations")) {
    patch["metadata"] = {{"annotations", metadata["annotations"]}};
  }
  server.Patch("pods", "default", name, patch);
}

class NodeWatchTest : public testing::TestWithParam<const char*> {};

TEST_P(NodeWatchTest, ShowsWhatAKubeletDoesToAPod) {
  // The kubelet also wrote other objects, which took versions.
  const auto comparable = [](const RawAnswer& answer) {
    std::vector<json> events = ParseEvents(answer.body);
    for (json& event : events) event = ComparableAnyVersion(event);
    return events;
  };
  const Capture capture = LoadCapture(GetParam());
  const std::vector<json> captured = ParseEvents(capture.answer.body);
  FakeApiServer server;

  const RawAnswer answer = Watch(server, capture, [&] {
    for (const json& event : captured) {
      Repeat(server, event);
      if (event.at("type") == "BOOKMARK") server.BookmarkWatches();
    }
    server.EndWatches();
  });

  EXPECT_EQ(ComparableHead(answer), ComparableHead(capture.answer));
  EXPECT_EQ(comparable(answer), comparable(capture.answer));
  EXPECT_EQ(answer.chunks.size(), capture.answer.chunks.size());
}

INSTANTIATE_TEST_SUITE_P(Captures, NodeWatchTest,
                         testing::Values("node-watch-all-pods", "node-watch-one-pod"), CaptureName);

}  // namespace
}  // namespace kuryr::fake
