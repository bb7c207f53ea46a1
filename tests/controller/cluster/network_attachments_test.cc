#include "controller/cluster/network_attachments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/backend.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using watcher::EventType;

constexpr const char* kUuid = "8c6a1f5e-3e1c-4a1f-9a7e-1d2b3c4d5e6f";

json Annotated(const std::string& config) {
  return {{"metadata", {{"annotations", {{"openstack.org/kuryr-config", config}}}}}};
}

json Configured(const std::string& config) { return {{"spec", {{"config", config}}}}; }

class NetworkAttachmentsTest : public ::testing::Test {
 protected:
  void Tell(EventType type, const std::string& name, json definition) {
    definition["kind"] = "NetworkAttachmentDefinition";
    definition["metadata"]["namespace"] = "tenant";
    definition["metadata"]["name"] = name;
    attachments_.Handle(watcher::MakeEvent(type, std::move(definition)));
  }
  /// The result of Find: a network, "another plugin's", or an error.
  std::string Found(const std::string& name, const std::string& asker = "tenant/pod") {
    using Kind = PlanError::Kind;
    try {
      return attachments_.Find("tenant", name, {Key::kPod, asker}).value_or("another plugin's");
    } catch (const PlanError& e) {
      EXPECT_THAT(e.kind(), testing::AnyOf(Kind::kGone, Kind::kRefused));
      return (e.kind() == Kind::kGone ? "gone: " : "refused: ") + std::string(e.what());
    }
  }
  std::string Read(json definition) {
    Tell(EventType::kAdded, "net", std::move(definition));
    return Found("net");
  }
  std::vector<std::string> Woken() {
    const MutexLock lock(mutex_);
    return std::exchange(woken_, {});
  }

 private:
  Mutex mutex_;
  std::vector<std::string> woken_ GUARDED_BY(mutex_);

 protected:
  NetworkAttachments attachments_{{.wake = [this](const Key& key) {
    const MutexLock lock(mutex_);
    woken_.push_back(key.ToString());
  }}};
};

TEST_F(NetworkAttachmentsTest, AnnotationNamesAPool) {
  EXPECT_EQ(Read(Annotated(R"({"pool": "storage"})")), "storage");
}

TEST_F(NetworkAttachmentsTest, AnnotationOfTheOriginalNamesASubnet) {
  EXPECT_EQ(Read(Annotated(R"({"subnetId": ")" + std::string(kUuid) +
                           R"(", "driverType": "nested-vlan"})")),
            kUuid);
}

TEST_F(NetworkAttachmentsTest, ConfigNamesAPoolOrASubnet) {
  EXPECT_EQ(Read(Configured(R"({"type": "kuryr-cni", "kuryr": {"pool": "storage"}})")), "storage");
  EXPECT_EQ(Read(Configured(R"({"kuryr": {"subnetId": ")" + std::string(kUuid) + R"("}})")), kUuid);
}

TEST_F(NetworkAttachmentsTest, ConfigListCountsByItsFirstPlugin) {
  EXPECT_EQ(
      Read(Configured(R"({"plugins": [{"kuryr": {"pool": "storage"}}, {"type": "tuning"}]})")),
      "storage");
  EXPECT_EQ(
      Read(Configured(R"({"plugins": [{"type": "bridge"}, {"kuryr": {"pool": "storage"}}]})")),
      "another plugin's");
}

TEST_F(NetworkAttachmentsTest, AnnotationPrecedesConfig) {
  json definition = Annotated(R"({"pool": "storage"})");
  definition["spec"]["config"] = R"({"kuryr": {"pool": "other"}})";

  EXPECT_EQ(Read(definition), "storage");
}

// Sections 3.2.1 to 3.2.4 of the standard, and networks that kuryr-cni has without a producer.
TEST_F(NetworkAttachmentsTest, DefinitionsThatNameNoNetworkAreAnotherPlugins) {
  for (const json& definition :
       {Configured(R"({"cniVersion": "0.3.0", "name": "a-bridge-network", "type": "bridge",
                       "bridge": "br0", "ipam": {"type": "host-local"}})"),
        Configured(
            R"({"cniVersion": "0.3.0", "plugins": [{"type": "bridge"}, {"type": "tuning"}]})"),
        Configured(R"({"cniVersion": "0.3.0", "type": "awesome-plugin"})"),
        Configured(R"({"type": "kuryr-cni", "kuryr": {"vif": "bridge", "bridge": "br1"}})"),
        Configured(R"({"plugins": []})"), Configured(R"({"plugins": 7})"), Configured("7"),
        Configured(""), json::object(), json{{"spec", nullptr}}}) {
    EXPECT_EQ(Read(definition), "another plugin's") << definition;
  }
}

TEST_F(NetworkAttachmentsTest, MalformedDefinitionsAreRefusedByField) {
  const std::pair<json, const char*> all[] = {
      {Annotated("{"), "annotation openstack.org/kuryr-config: malformed JSON"},
      {Annotated("7"), "annotation openstack.org/kuryr-config: no object; expected {\"pool\""},
      {Annotated("{}"), "annotation openstack.org/kuryr-config: names no network"},
      {Annotated(R"({"pool": ""})"), "names no network"},
      {Annotated(R"({"pool": 7})"), "openstack.org/kuryr-config.pool: no string"},
      {Annotated(R"({"pool": ")" + std::string(254, 'x') + "\"}"), "253 bytes"},
      {Annotated(R"({"subnetId": "subnet-a"})"), "kuryr-config.subnetId: no UUID"},
      {Annotated(R"({"pool": "a", "subnetId": ")" + std::string(kUuid) + "\"}"), "names both"},
      {Configured("{"), "spec.config: malformed JSON"},
      {Configured(std::string(1000, '[')), "spec.config: malformed JSON"},
      {Configured(R"({"kuryr": 7})"), "spec.config, kuryr: no object"},
      {Configured(R"({"kuryr": {"pool": []}})"), "spec.config, kuryr.pool: no string"},
  };
  for (const auto& [definition, reason] : all) {
    EXPECT_THAT(
        Read(definition),
        AllOf(HasSubstr("refused: NetworkAttachmentDefinition tenant/net, "), HasSubstr(reason)));
  }
}

TEST_F(NetworkAttachmentsTest, RefusalsTellNothingOfTheDefinitionsText) {
  EXPECT_THAT(Read(Configured(R"({"password": "secret" oops})")), Not(HasSubstr("secret")));
  EXPECT_THAT(Read(Annotated(R"({"subnetId": "secret"})")), Not(HasSubstr("secret")));
}

TEST_F(NetworkAttachmentsTest, DefinitionThatIsNotThereIsGone) {
  EXPECT_EQ(Found("net"),
            "gone: no NetworkAttachmentDefinition tenant/net, which annotation "
            "k8s.v1.cni.cncf.io/networks names");
}

TEST_F(NetworkAttachmentsTest, ChangesAndDeletionsCountAtOnce) {
  Tell(EventType::kAdded, "net", Annotated(R"({"pool": "first"})"));
  Tell(EventType::kModified, "net", Annotated(R"({"pool": "second"})"));
  EXPECT_EQ(Found("net"), "second");

  Tell(EventType::kDeleted, "net", Annotated(R"({"pool": "second"})"));
  EXPECT_THAT(Found("net"), HasSubstr("gone: "));
}

TEST_F(NetworkAttachmentsTest, WhoAskedInVainIsWokenOnceWhenTheDefinitionAppears) {
  (void)Found("net", "tenant/a");
  (void)Found("net", "tenant/a");
  (void)Found("net", "tenant/b");
  (void)Found("other", "tenant/c");

  Tell(EventType::kAdded, "net", Annotated(R"({"pool": "storage"})"));
  EXPECT_THAT(Woken(), UnorderedElementsAre("tenant/a", "tenant/b"));

  Tell(EventType::kModified, "net", Annotated(R"({"pool": "storage"})"));
  EXPECT_THAT(Woken(), IsEmpty());
  EXPECT_EQ(attachments_.waiting(), 1u);
}

TEST_F(NetworkAttachmentsTest, WhoAskedInVainIsWokenWhenTheDefinitionIsMended) {
  Tell(EventType::kAdded, "net", Annotated("{"));
  (void)Found("net", "tenant/a");

  Tell(EventType::kModified, "net", Annotated(R"({"pool": "storage"})"));

  EXPECT_THAT(Woken(), ElementsAre("tenant/a"));
}

TEST_F(NetworkAttachmentsTest, WhoGotAnAnswerIsNotWoken) {
  Tell(EventType::kAdded, "net", Annotated(R"({"pool": "storage"})"));
  (void)Found("net", "tenant/a");

  Tell(EventType::kModified, "net", Annotated(R"({"pool": "other"})"));

  EXPECT_THAT(Woken(), IsEmpty());
}

TEST_F(NetworkAttachmentsTest, WhoNeverComesBackIsForgottenSomeTime) {
  for (size_t i = 0; i < 3 * Askers::kMost; ++i) {
    const std::string number = std::to_string(i);
    (void)Found("net-" + number, "tenant/pod-" + number);
    ASSERT_LE(attachments_.waiting(), Askers::kMost);
  }
}

TEST_F(NetworkAttachmentsTest, WhoAsksWhileTheDefinitionComesGetsItOrIsWoken) {
  constexpr int kRounds = 500;
  std::barrier both(2);
  std::string answer;
  std::jthread asker([&] {
    for (int i = 0; i < kRounds; ++i) {
      both.arrive_and_wait();
      answer = Found("net");
      both.arrive_and_wait();
    }
  });
  int missed = 0;
  for (int i = 0; i < kRounds; ++i) {
    both.arrive_and_wait();
    Tell(EventType::kAdded, "net", Annotated(R"({"pool": "storage"})"));
    both.arrive_and_wait();
    if (Woken().empty() == (answer != "storage")) ++missed;
    Tell(EventType::kDeleted, "net", json::object());
  }
  EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace kuryr::controller
