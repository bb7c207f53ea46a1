#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "controller/owners/pod_facts.h"
#include "tests/controller/backends/neutron/client/scripted_server.h"
#include "tests/controller/commands/commands_fixture.h"
#include "tests/support/paths.h"

// kuryr-controller adopt at a cluster of kuryr-kubernetes. Plans and KuryrPorts are samples of
// kuryr-kubernetes; ports are such as a real Neutron tells.

namespace kuryr::test {
namespace {

using controller::neutron::ScriptedServer;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// The port of the plan in port-get-active.vif.json.
constexpr const char* kPlanned = "fbea0d51-2c0d-4cd2-89de-6881cf92f73a";

json ReadData(const std::string& name) {
  std::ifstream file(test::TestData() + "/" + name);
  EXPECT_TRUE(file) << name;
  return json::parse(file);
}

class AdoptCommandTest : public CommandsTest {
 protected:
  AdoptCommandTest() : captured_(ReadData("neutron-http/port-get-active.json")) {}

  void SetUp() override {
    CommandsTest::SetUp();
    Use("vif_pool_driver = neutron\n");
  }
  void Use(const std::string& driver) {
    std::ofstream(conf_) << "[kubernetes]\napi_root = " << api().url() << "\nvif_sink = podstate\n"
                         << driver
                         << "[controller]\nbackend = neutron\n[neutron]\nauth_type = none\n"
                            "endpoint_override = "
                         << neutron_.url()
                         << "\n[neutron_defaults]\n"
                            "pod_subnet = a26eeeca-dce2-416d-a18e-748a37d60d23, "
                            "61ed89fe-1cbc-4c74-966b-afad38aeed29\n"
                            "pod_security_groups = 9ebc225a-aa2a-44fa-9a71-0a1e1e0c9adf\n"
                            "resource_tags = cluster-a\n";
  }
  /// Adds a port of the cluster: the captured one with `change`.
  void AddPort(const std::string& id, const json& change) {
    json port = json::parse(captured_.at("answer").at("body").get<std::string>()).at("port");
    port.merge_patch({{"id", id}, {"tags", {"cluster-a"}}});
    port.merge_patch(change);
    ports_.push_back(port);
  }
  std::string AddAnnotatedPod(const std::string& name) {
    const json vif = ReadData("neutron-http/port-get-active.vif.json");
    const json pod =
        cluster_.CreatePod(name, {}, {{"annotations", {{"openstack.org/kuryr-vif", vif.dump()}}}});
    return pod["metadata"]["uid"];
  }
  ProcessResult Adopt(std::vector<std::string> options = {}) {
    neutron_.Answer(200, json{{"ports", ports_}}.dump());
    neutron_.Answer(200, R"({"ports": []})");  // the ports without tags
    const json subnet = ReadData("neutron-http/subnet-create-ipv6.json");
    neutron_.Answer(200, subnet.at("answer").at("body"));  // may give addresses by SLAAC
    options.insert(options.begin(), "--dry-run");
    return RunCommand("adopt", options, conf_);
  }

  const json captured_;
  json ports_ = json::array();
  ScriptedServer neutron_;
};

TEST_F(AdoptCommandTest, PlanOfAnAnnotationIsTakenOverWithItsPort) {
  AddPort(kPlanned, {{"device_id", AddAnnotatedPod("a")}});

  const ProcessResult adopt = Adopt();

  EXPECT_EQ(adopt.status, 0) << adopt.out << adopt.err;
  EXPECT_EQ(adopt.out,
            "nobody leads\n"
            "take over  pod default/a: its plan is one of this backend\n"
            "1 to take over, 0 to plan, 0 to release, 0 to leave\n");
}

TEST_F(AdoptCommandTest, JsonHasTheSameObjects) {
  AddPort(kPlanned, {{"device_id", AddAnnotatedPod("a")}});

  const ProcessResult adopt = Adopt({"-o", "json"});

  EXPECT_EQ(adopt.status, 0) << adopt.out << adopt.err;
  EXPECT_EQ(json::parse(adopt.out),
            json({{"leader", "nobody leads"},
                  {"objects", json::array({{{"fate", "take over"},
                                            {"what", "pod default/a"},
                                            {"why", "its plan is one of this backend"}}})}}));
}

TEST_F(AdoptCommandTest, PortsOfPoolsAreTakenOverWithAndWithoutAName) {
  AddAnnotatedPod("a");
  // Without port_debug, a port in use looks like a ready one: only the plan tells.
  AddPort(kPlanned, {{"device_id", ""}});
  AddPort("11111111-2c0d-4cd2-89de-6881cf92f73a", {{"device_id", ""}, {"status", "DOWN"}});
  AddPort("22222222-2c0d-4cd2-89de-6881cf92f73a", {{"device_id", ""}, {"name", "kuryr-pool-port"}});

  const ProcessResult adopt = Adopt();

  EXPECT_EQ(adopt.status, 0) << adopt.out << adopt.err;
  EXPECT_THAT(
      adopt.out,
      AllOf(HasSubstr("take over  port 11111111-2c0d-4cd2-89de-6881cf92f73a: ready for pods at "
                      "held-node\n"),
            HasSubstr("take over  port 22222222-2c0d-4cd2-89de-6881cf92f73a (kuryr-pool-port): "
                      "ready for pods at held-node\n"),
            HasSubstr("3 to take over, 0 to plan"), Not(HasSubstr(kPlanned))));
}

TEST_F(AdoptCommandTest, WithoutPoolsTheirPortsAreLeft) {
  Use("");
  AddPort("22222222-2c0d-4cd2-89de-6881cf92f73a", {{"device_id", ""}, {"name", "kuryr-pool-port"}});

  const ProcessResult adopt = Adopt();

  EXPECT_EQ(adopt.status, 1) << adopt.err;
  EXPECT_THAT(adopt.out, HasSubstr("leave      port 22222222-2c0d-4cd2-89de-6881cf92f73a "
                                   "(kuryr-pool-port): of a pool, and [kubernetes] "
                                   "vif_pool_driver names none\n"));
}

TEST_F(AdoptCommandTest, KuryrPortsOfItsOwnAreLeft) {
  json port = ReadData("vif-samples/kuryrport/ovs-active.json");
  const json pod = cluster_.CreatePod("b");
  port["metadata"] = {{"name", "b"}, {"finalizers", port["metadata"]["finalizers"]}};
  port["spec"]["podUid"] = pod["metadata"]["uid"];
  api().Create(port);
  port["metadata"]["name"] = "gone";
  port["spec"]["podUid"] = "uid-gone";
  api().Create(port);

  const ProcessResult adopt = Adopt();

  EXPECT_EQ(adopt.status, 1) << "nobody takes the second one away";
  EXPECT_THAT(adopt.out, AllOf(HasSubstr("leave      pod default/b: another producer plans it\n"),
                               HasSubstr("leave      KuryrPort default/gone: its pod is gone, and "
                                         "it is another producer's")));
}

TEST_F(AdoptCommandTest, PortsOfPodsAreToldByTheirUid) {
  const std::string waiting = cluster_.CreatePod("c")["metadata"]["uid"];
  AddPort("11111111-2c0d-4cd2-89de-6881cf92f73a", {{"device_id", waiting}});
  AddPort("22222222-2c0d-4cd2-89de-6881cf92f73a", {{"device_id", "uid-gone"}, {"name", "x/y"}});
  AddPort("33333333-2c0d-4cd2-89de-6881cf92f73a", {{"device_id", ""}});

  const ProcessResult adopt = Adopt();

  EXPECT_EQ(adopt.status, 1);
  EXPECT_THAT(
      adopt.out,
      AllOf(HasSubstr("plan       pod default/c: it has no plan\n"),
            HasSubstr("take over  port 11111111-2c0d-4cd2-89de-6881cf92f73a: pod default/c's, "
                      "which has no plan\n"),
            HasSubstr("leave      port 22222222-2c0d-4cd2-89de-6881cf92f73a (x/y): pod uid-gone is "
                      "gone: kuryr-controller orphans --remove deletes the port\n"),
            HasSubstr("leave      port 33333333-2c0d-4cd2-89de-6881cf92f73a: nothing says whose "
                      "it is\n")));
}

TEST_F(AdoptCommandTest, PodThatRunsWithAFormerAddressIsLeftWithTheReason) {
  AddPort(kPlanned, {{"device_id", AddAnnotatedPod("a")}});
  PatchPod("a", {{"metadata", {{"annotations", {{controller::kFormerAnnotation, "10.8.0.99"}}}}},
                 {"status", {{"podIPs", {{{"ip", "10.8.0.99"}}}}}}});

  const ProcessResult adopt = Adopt();

  EXPECT_EQ(adopt.status, 1) << adopt.err;
  EXPECT_THAT(adopt.out, HasSubstr("leave      pod default/a: the pod has address 10.8.0.99, "));
}

TEST_F(AdoptCommandTest, DocsShowWhatItPrints) {
  AddPort(kPlanned, {{"device_id", AddAnnotatedPod("web-0")}});
  json others = ReadData("vif-samples/kuryrport/ovs-active.json");
  others["metadata"] = {{"name", "web-1"}};
  others["spec"]["podUid"] = cluster_.CreatePod("web-1")["metadata"]["uid"];
  api().Create(others);
  AddPort("0e09aad4-fed6-4abb-96c6-26699e0da90a",
          {{"device_id", ""}, {"name", "kuryr-pool-port"}, {"binding:host_id", "node1"}});
  AddPort("683da866-6bb1-4da2-bf6a-a5f4137c38e7", {{"device_id", ""}});

  const ProcessResult adopt = Adopt();

  std::ifstream file(test::SourceDir() + "/docs/from-kuryr-kubernetes.md");
  const std::string docs{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_THAT(docs, HasSubstr("$ kuryr-controller adopt --dry-run\n" + adopt.out));
}

TEST_F(AdoptCommandTest, NothingIsChanged) {
  AddPort("22222222-2c0d-4cd2-89de-6881cf92f73a", {{"device_id", ""}, {"name", "kuryr-pool-port"}});

  (void)Adopt();

  for (const auto& request : neutron_.Requests()) EXPECT_EQ(request.method, "GET");
}

TEST_F(AdoptCommandTest, NeutronThatDoesNotAnswerIsAFailure) {
  const ProcessResult adopt = RunCommand("adopt", {"--dry-run"}, conf_);

  EXPECT_EQ(adopt.status, 2) << adopt.out;
  EXPECT_THAT(adopt.err, StartsWith("kuryr-controller: list ports"));
}

TEST_F(AdoptCommandTest, DryRunHasToBeAskedFor) {
  const ProcessResult adopt = RunCommand("adopt", {}, conf_);

  EXPECT_NE(adopt.status, 0);
  EXPECT_THAT(adopt.err, HasSubstr("adopt needs one of these words"));
}

}  // namespace
}  // namespace kuryr::test
