#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "policy/admin_policy.h"
#include "tests/controller/commands/commands_fixture.h"
#include "tests/controller/multi_network.h"
#include "tests/support/paths.h"

// kuryr-controller policy.

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kNotEnforced = "backend local enforces no NetworkPolicy\n";

/// The namespace default has the pods web and db.
class PolicyCommandTest : public CommandsTest {
 protected:
  PolicyCommandTest() = default;
  explicit PolicyCommandTest(const fake::Options& options) : CommandsTest(options) {}

  void SetUp() override {
    CommandsTest::SetUp();
    api().Create({{"kind", "Namespace"},
                  {"apiVersion", "v1"},
                  {"metadata", {{"name", "default"}, {"labels", {{"team", "a"}}}}}});
    CreatePod("web", "10.8.0.2", {});
    CreatePod("db", "10.8.0.3",
              {{"containers",
                {{{"name", "c"}, {"ports", {{{"name", "sql"}, {"containerPort", 5432}}}}}}}});
  }

  void CreatePod(const std::string& name, const std::string& address, const json& spec) {
    cluster_.CreatePod(name, spec, {{"labels", {{"app", name}}}});
    PatchPod(name, {{"status", {{"podIPs", {{{"ip", address}}}}}}});
  }
  void CreatePolicy(const std::string& name, const std::string& spec) {
    api().Create({{"kind", "NetworkPolicy"},
                  {"apiVersion", "networking.k8s.io/v1"},
                  {"metadata", {{"name", name}}},
                  {"spec", json::parse(spec)}});
  }
  void CreateDbPolicy() {
    CreatePolicy("db", R"({"podSelector": {"matchLabels": {"app": "db"}},
        "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "web"}}}],
                     "ports": [{"port": "sql"}]},
                    {"from": [{"ipBlock": {"cidr": "10.8.0.0/30"}}], "ports": [{"port": 80}]}]})");
  }
  [[nodiscard]] ProcessResult Policy(const std::vector<std::string>& arguments) const {
    return RunCommand("policy", arguments, conf_);
  }
};

TEST_F(PolicyCommandTest, NamesThePoliciesOfAPodAndWhatTheyAllow) {
  CreateDbPolicy();
  CreatePolicy("closed", R"({"podSelector": {}})");

  const ProcessResult db = Policy({"default/db"});
  const ProcessResult web = Policy({"default/web"});

  EXPECT_EQ(db.status, 0) << db.err;
  EXPECT_EQ(db.out, kNotEnforced +
                        "ingress: isolated by default/closed, default/db\n"
                        "  default/closed allows nothing\n"
                        "  default/db allows from 10.8.0.0/30, tcp/80\n"
                        "  default/db allows from ns=default pods=app=web, tcp/5432\n"
                        "egress: no policy isolates the pod, so all is allowed\n");
  EXPECT_EQ(web.status, 0) << web.err;
  EXPECT_THAT(web.out, HasSubstr("ingress: isolated by default/closed\n"));
}

TEST_F(PolicyCommandTest, SaysByWhichRuleAPodMayReachAnother) {
  CreateDbPolicy();

  const ProcessResult sql = Policy({"default/web", "default/db", "tcp/5432"});
  const ProcessResult http = Policy({"default/web", "default/db", "tcp/80"});

  EXPECT_EQ(sql.status, 0) << sql.err;
  EXPECT_EQ(sql.out, kNotEnforced +
                         "egress of default/web: allowed, as no policy isolates it\n"
                         "ingress of default/db: allowed by default/db: from ns=default "
                         "pods=app=web, tcp/5432\n"
                         "allowed\n");
  EXPECT_EQ(http.status, 0);
  EXPECT_THAT(http.out, HasSubstr("allowed by default/db: from 10.8.0.0/30, tcp/80\n"));
}

TEST_F(PolicyCommandTest, ItsPageShowsItsOutput) {
  CreateDbPolicy();
  std::ifstream file(SourceDir() + "/docs/policy.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});

  const ProcessResult sql = Policy({"default/web", "default/db", "tcp/5432"});

  ASSERT_THAT(sql.out, StartsWith(kNotEnforced));
  EXPECT_THAT(page, HasSubstr("$ kuryr-controller policy default/web default/db tcp/5432\n" +
                              sql.out.substr(kNotEnforced.size()) + "```\n"));
}

TEST_F(PolicyCommandTest, SaysWhichPoliciesDrop) {
  CreateDbPolicy();
  CreatePolicy("out", R"({"podSelector": {"matchLabels": {"app": "web"}},
      "policyTypes": ["Egress"]})");

  const ProcessResult dropped = Policy({"default/web", "default/db", "udp/53"});

  EXPECT_EQ(dropped.status, 1) << dropped.err;
  EXPECT_EQ(dropped.out, kNotEnforced +
                             "egress of default/web: dropped, as no rule allows it of default/out\n"
                             "ingress of default/db: dropped, as no rule allows it of default/db\n"
                             "dropped\n");
}

TEST_F(PolicyCommandTest, APodReachesItself) {
  CreatePolicy("closed", R"({"podSelector": {}, "policyTypes": ["Ingress", "Egress"]})");
  EXPECT_EQ(Policy({"default/web", "default/web", "tcp/80"}).status, 0);
}

TEST_F(PolicyCommandTest, NamesTheFieldThatIsNotUnderstood) {
  CreatePolicy("new", R"({"podSelector": {}, "ingress": [{"from": [{"serviceSelector": {}}]}]})");

  const ProcessResult web = Policy({"default/web"});

  EXPECT_EQ(web.status, 1);
  EXPECT_THAT(web.out, HasSubstr("default/new is not understood, and allows less than it says: "
                                 "$.spec.ingress[0].from[0]: has a member that is not known"));
}

TEST_F(PolicyCommandTest, SaysThatNoneHoldsForAPodOfAFlatPool) {
  Configure(
      "[node_network]\nenabled = true\n[pool:routed]\ncidr = 10.9.0.0/16\nnode_prefix = 24\n");
  CreateDbPolicy();
  Lead();
  (void)cluster_.WaitForPlan("db");
  StopLeading();

  EXPECT_THAT(Policy({"default/db"}).out,
              StartsWith("default/db: no policy holds for pods of pool \"pods\""));
}

TEST_F(PolicyCommandTest, NoPolicySelectsAPodOfTheHostsNetwork) {
  CreatePolicy("closed", R"({"podSelector": {}})");
  CreatePod("host", "192.0.2.1", {{"hostNetwork", true}});

  const ProcessResult host = Policy({"default/host"});

  EXPECT_EQ(host.status, 0) << host.err;
  EXPECT_THAT(host.out, HasSubstr("default/host is in its node's network"));
}

class MultiPolicyCommandTest : public PolicyCommandTest {
 protected:
  MultiPolicyCommandTest() : PolicyCommandTest(WithLeases(MultiNetworkKinds())) {}
};

TEST_F(MultiPolicyCommandTest, NamesTheNetworkOnWhichAPolicyIsolates) {
  api().Create(DefinitionOf("storage", "san"));
  api().Create(MultiPolicyOf("db", "storage", json::parse(R"({
      "podSelector": {"matchLabels": {"app": "db"}},
      "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "web"}}}]}]})")));

  const ProcessResult db = Policy({"default/db"});

  EXPECT_EQ(db.status, 0) << db.err;
  EXPECT_EQ(db.out, kNotEnforced +
                        "ingress: no policy isolates the pod, so all is allowed\n"
                        "egress: no policy isolates the pod, so all is allowed\n"
                        "ingress on network san: isolated by MultiNetworkPolicy/default/db\n"
                        "  MultiNetworkPolicy/default/db allows from on san ns=default "
                        "pods=app=web, any port\n");
}

TEST_F(MultiPolicyCommandTest, NamesTheDefinitionThatDoesNotExist) {
  api().Create(MultiPolicyOf("db", "storage", json::parse(R"({"podSelector": {}})")));

  const ProcessResult db = Policy({"default/db"});

  EXPECT_EQ(db.status, 1) << db.err;
  EXPECT_THAT(db.out, HasSubstr("ingress on every additional network: isolated by "
                                "MultiNetworkPolicy/default/db\n"));
  EXPECT_THAT(db.out, HasSubstr("names NetworkAttachmentDefinition default/storage"));
}

/// The cluster has the definitions of admins' policies, and OVN enforces them.
class AdminPolicyCommandTest : public PolicyCommandTest {
 protected:
  AdminPolicyCommandTest() : PolicyCommandTest(WithAdmins()) {}

  void SetUp() override {
    PolicyCommandTest::SetUp();
    Configure("[controller]\nbackend = ovn\n[ovn]\nnb_connection = unix:/nonexistent/nb.sock\n");
  }
  static fake::Options WithAdmins() {
    std::vector<fake::Resource> resources = {fake::KuryrPorts()};
    for (const policy::AdminKind& kind : policy::kAdminKinds) {
      const std::string version = kind.api_version;
      resources.push_back({.group = "policy.networking.k8s.io",
                           .version = version.substr(version.find('/') + 1),
                           .plural = kind.plural,
                           .kind = kind.kind,
                           .namespaced = false,
                           .custom = true});
    }
    return WithLeases(std::move(resources));
  }
  void CreateAdmin(const char* kind, const std::string& name, const std::string& spec) {
    api().Create({{"kind", kind},
                  {"apiVersion", policy::FindAdminKind(kind)->api_version},
                  {"metadata", {{"name", name}}},
                  {"spec", json::parse(spec)}});
  }
};

TEST_F(AdminPolicyCommandTest, SaysWhichPolicyOfAnAdminDecides) {
  CreateDbPolicy();
  CreateAdmin("AdminNetworkPolicy", "pass", R"({"priority": 1, "subject": {"namespaces": {}},
      "ingress": [{"action": "Pass", "from": [{"namespaces": {}}],
                   "ports": [{"portNumber": {"port": 5432}}]},
                  {"action": "Deny", "from": [{"namespaces": {}}]}]})");
  CreateAdmin("BaselineAdminNetworkPolicy", "default", R"({"subject": {"namespaces": {}},
      "egress": [{"action": "Deny", "to": [{"networks": ["192.0.2.0/24"]}]}]})");

  const ProcessResult sql = Policy({"default/web", "default/db", "tcp/5432"});
  const ProcessResult http = Policy({"default/web", "default/db", "tcp/80"});
  const ProcessResult web = Policy({"default/web"});

  EXPECT_EQ(sql.status, 0) << sql.err;
  EXPECT_EQ(sql.out,
            "egress of default/web: allowed, as no policy isolates it\n"
            "ingress of default/db: passed on by AdminNetworkPolicy/pass, allowed by default/db: "
            "from ns=default pods=app=web, tcp/5432\nallowed\n");
  EXPECT_EQ(http.status, 1);
  EXPECT_THAT(http.out, HasSubstr("ingress of default/db: denied by AdminNetworkPolicy/pass: from "
                                  "namespaces= pods=, any port\ndropped\n"));
  EXPECT_EQ(web.out,
            "ingress: AdminNetworkPolicy/pass passes on what is from namespaces= pods=, tcp/5432\n"
            "ingress: AdminNetworkPolicy/pass denies from namespaces= pods=, any port\n"
            "ingress: no policy isolates the pod, so all else is allowed\n"
            "egress: BaselineAdminNetworkPolicy/default denies to 192.0.2.0/24, any port\n"
            "egress: no policy isolates the pod, so all else is allowed\n");
}

TEST_F(AdminPolicyCommandTest, SaysWhichNodesAClusterNetworkPolicyNames) {
  api().Create({{"kind", "Node"},
                {"apiVersion", "v1"},
                {"metadata", {{"name", "edge"}, {"labels", {{"edge", "yes"}}}}},
                {"status", {{"addresses", {{{"address", "192.0.2.9"}}}}}}});
  CreateAdmin("ClusterNetworkPolicy", "nodes", R"({"tier": "Baseline", "priority": 1,
      "subject": {"namespaces": {}}, "egress": [
          {"action": "Pass", "to": [{"nodes": {}}],
           "protocols": [{"udp": {"destinationPort": {"number": 53}}}]},
          {"action": "Deny", "to": [{"nodes": {"matchLabels": {"edge": "yes"}}}]}]})");

  EXPECT_EQ(Policy({"default/web"}).out,
            "ingress: no policy isolates the pod, so all else is allowed\n"
            "egress: ClusterNetworkPolicy/nodes passes on what is to 192.0.2.9/32, udp/53\n"
            "egress: ClusterNetworkPolicy/nodes denies to 192.0.2.9/32, any port\n"
            "egress: no policy isolates the pod, so all else is allowed\n");
}

TEST_F(PolicyCommandTest, PrintsItsAnswersAsJson) {
  CreateDbPolicy();
  CreatePolicy("bad", R"({"podSelector": {}, "ingress": [{"from": [{"serviceSelector": {}}]}]})");

  const json pod = json::parse(Policy({"default/db", "-o", "json"}).out);
  const ProcessResult dropped = Policy({"default/db", "default/web", "tcp/80", "--output", "json"});
  const json pair = json::parse(dropped.out);

  EXPECT_EQ(pod.at("pod"), "default/db");
  EXPECT_EQ(pod.at("enforced"), false);
  EXPECT_EQ(pod.at("sides").at(0).at("direction"), "ingress");
  EXPECT_EQ(pod.at("sides").at(0).at("isolated_by"), (json{"default/bad", "default/db"}));
  EXPECT_EQ(pod.at("sides").at(0).at("rules").at(1),
            (json{{"policy", "default/db"},
                  {"verb", "allows"},
                  {"what", "from ns=default pods=app=web, tcp/5432"}}));
  EXPECT_EQ(pod.at("sides").at(1).at("isolated_by"), json::array());
  EXPECT_EQ(pod.at("not_understood").at(0).at("policy"), "default/bad");
  EXPECT_EQ(dropped.status, 1);
  EXPECT_EQ(pair.at("allowed"), false);
  EXPECT_EQ(pair.at("egress").at("allowed"), true);
  EXPECT_EQ(pair.at("ingress").at("isolated_by"), json{"default/bad"});
}

TEST_F(PolicyCommandTest, AKubeconfigReplacesTheServerOfKuryrConf) {
  const std::string kubeconfig = conf_ + ".kubeconfig";
  const json cluster = {{"name", "k"}, {"cluster", {{"server", api().url()}}}};
  const json user = {{"name", "u"}, {"user", json::object()}};
  const json context = {{"name", "c"}, {"context", {{"cluster", "k"}, {"user", "u"}}}};
  std::ofstream(kubeconfig) << json{{"apiVersion", "v1"},     {"kind", "Config"},
                                    {"current-context", "c"}, {"clusters", {cluster}},
                                    {"contexts", {context}},  {"users", {user}}}
                                   .dump();
  std::ofstream(conf_) << "[kubernetes]\napi_root = http://127.0.0.1:1\ntoken_file = /nonexistent\n"
                          "[pool:pods]\ncidr = 10.8.0.0/29\nnamespaces = *\n";

  EXPECT_EQ(Policy({"default/web"}).status, 2);
  const ProcessResult asked = Policy({"default/web", "--kubeconfig", kubeconfig});
  EXPECT_EQ(asked.status, 0) << asked.err;
  EXPECT_THAT(Policy({"default/web", "--kubeconfig", "/nonexistent"}).err,
              HasSubstr("--kubeconfig: "));
  std::filesystem::remove(kubeconfig);
}

TEST_F(PolicyCommandTest, RefusesWhatNamesNoPodOrPort) {
  EXPECT_THAT(Policy({"web"}).err, HasSubstr("\"web\" names no pod; expected NAMESPACE/NAME"));
  EXPECT_THAT(Policy({"default/none"}).err, HasSubstr("there is no pod default/none"));
  EXPECT_THAT(Policy({"default/web", "default/db"}).err,
              HasSubstr("a port is missing behind default/db; expected tcp/80"));
  for (const char* port : {"80", "tcp/", "tcp/0", "tcp/65536", "icmp/1", "tcp/80x"}) {
    const ProcessResult refused = Policy({"default/web", "default/db", port});
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr("is no port; expected tcp/80, udp/53 or sctp/9")) << port;
  }
}

}  // namespace
}  // namespace kuryr::test
