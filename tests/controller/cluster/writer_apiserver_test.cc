#include "controller/owners/writer.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/json.h"
#include "controller/owners/pod_store.h"
#include "tests/controller/kube_api_fixture.h"

// A real API server tells which producer planned a pod.

namespace kuryr::controller {
namespace {

using nlohmann::json;
using watcher::EventType;
using watcher::PatchType;

/// The definition in etc/kubernetes/base/kuryrport/kuryrport.yaml, without its schema.
constexpr const char* kDefinition = R"({
  "metadata": {"name": "kuryrports.openstack.org"},
  "spec": {
    "group": "openstack.org", "scope": "Namespaced",
    "names": {"kind": "KuryrPort", "listKind": "KuryrPortList", "plural": "kuryrports",
              "singular": "kuryrport"},
    "versions": [{
      "name": "v1", "served": true, "storage": true,
      "schema": {"openAPIV3Schema": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})";

class WriterApiServerTest : public test::KubeApiTest {
 protected:
  void SetUp() override {
    KubeApiTest::SetUp();
    if (server_) writer_.emplace(*api_, store_, [] { return true; });
  }
  /// Creates a pod, and tells the store of it as the watch does.
  std::shared_ptr<const PodFacts> HearOfNew(const std::string& name) {
    store_.Handle(watcher::MakeEvent(EventType::kAdded, CreatePod(name)));
    return store_.Find(KeyOf("default", name)).pod;
  }

  PodStore store_{KindParts{}};
  std::optional<Writer> writer_;
};

TEST_F(WriterApiServerTest, FinalizerIsOfWhoHasPutIt) {
  const json finalizers = {{"finalizers", {"example.org/own", kPodFinalizer}}};
  writer_->PatchPod(*HearOfNew("ours"), finalizers);
  CreatePod("others");

  const json ours = api_->Patch(PodPath("default", "ours") + "/status", PatchType::kMerge,
                                {{"status", {{"phase", "Running"}}}});
  const json others =
      api_->Patch(PodPath("default", "others"), PatchType::kMerge, {{"metadata", finalizers}});

  EXPECT_TRUE(HasPutFinalizer(ours)) << ours;
  EXPECT_FALSE(HasPutFinalizer(others)) << others;
}

TEST_F(WriterApiServerTest, KuryrPortThatIsInTheWayIsLearnt) {
  Define(ParseJson(kDefinition));
  (void)WaitFor(PortsPath("default"), [](const json& list) { return list.contains("items"); });
  const auto pod = HearOfNew("a");
  const json port = {{"apiVersion", "openstack.org/v1"},
                     {"kind", "KuryrPort"},
                     {"metadata", {{"name", "a"}}},
                     {"spec", {{"podUid", pod->uid}, {"podNodeName", "node1"}}},
                     {"status", {{"vifs", json::object()}}}};
  const json others = api_->Post(PortsPath("default"), port);

  EXPECT_THROW(writer_->CreatePort(*pod, port), watcher::ApiError);

  const auto learnt = store_.Find("default/a").port;
  ASSERT_NE(learnt, nullptr);
  EXPECT_EQ(learnt->uid, StringAt(others.at("metadata"), "uid"));
  EXPECT_FALSE(learnt->ours);
}

}  // namespace
}  // namespace kuryr::controller
