#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/base64.h"
#include "base/json.h"
#include "certificates/certificate.h"
#include "certificates/file_set.h"
#include "controller/backends/pools/pool_factory.h"
#include "controller/leading.h"
#include "tests/controller/backends/pools/pools_text.h"
#include "tests/controller/kube_api_fixture.h"
#include "tests/support/temporary_folder.h"

// OVN's keys, at a real API server: requests of nodes come with real tokens of pods.

namespace kuryr::test {
namespace {

using certificates::Identity;
using controller::Leading;
using nlohmann::json;

constexpr const char* kSystem = "/api/v1/namespaces/kube-system/";
constexpr const char* kRequests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// Pools whose leader issues keys.
class IssuingPools final : public controller::BackendFactory {
 public:
  explicit IssuingPools(controller::IssuedCertificates issued)
      : pools_(controller::pools::ReadPoolsOf(
            "[pool:pods]\ncidr = 10.9.0.0/29\nnamespaces = *\nrest = 0\n")),
        issued_(std::move(issued)) {}

  [[nodiscard]] const char* name() const noexcept override { return pools_.name(); }
  [[nodiscard]] controller::BackendNeeds needs() const override {
    controller::BackendNeeds needs = pools_.needs();
    needs.certificates = issued_;
    return needs;
  }
  void Warn() const override {}
  [[nodiscard]] std::shared_ptr<controller::Backend> Make(
      const controller::BackendHooks& hooks) const override {
    return pools_.Make(hooks);
  }

 private:
  const controller::pools::PoolFactory pools_;
  const controller::IssuedCertificates issued_;
};

class IssuerTest : public KubeApiTest {
 protected:
  void SetUp() override {
    KubeApiTest::SetUp();
    if (!server_) return;
    for (const char* name : {"ovn-tls-authority", "ovn-tls-central"})
      api_->Post(std::string(kSystem) + "secrets", {{"metadata", {{"name", name}}}});
    for (const char* name : {"ovn-authority", "ovn-chassis"})
      api_->Post(std::string(kSystem) + "configmaps", {{"metadata", {{"name", name}}}});
    api_->Post(std::string(kSystem) + "serviceaccounts",
               {{"metadata", {{"name", "kuryr-daemon"}}}});
    api_->Post(
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        {{"metadata", {{"name", "all"}}},
         {"roleRef",
          {{"apiGroup", "rbac.authorization.k8s.io"},
           {"kind", "ClusterRole"},
           {"name", "cluster-admin"}}},
         {"subjects",
          {{{"kind", "ServiceAccount"}, {"name", "kuryr-daemon"}, {"namespace", "kube-system"}}}}});
    for (const char* name : {"node1", "node2"})
      api_->Post("/api/v1/nodes", {{"metadata", {{"name", name}}}});
  }
  void Lead(std::chrono::seconds lifetime = std::chrono::hours(1)) {
    leading_.reset();
    informer_.reset();
    config_.api.api = Config();
    config_.backend = std::make_shared<IssuingPools>(controller::IssuedCertificates{
        .name_space = "kube-system", .lifetime = lifetime, .folder = folder_.path() / "ovn"});
    informer_ = std::make_unique<controller::Informer>(config_);
    leading_ = std::make_unique<Leading>(Leading::Parts{config_, reporter_, metrics_, *informer_},
                                         controller::SinkKind::kPodState, [] { return true; });
  }
  json WaitForData(const std::string& path, const char* name) {
    return WaitFor(kSystem + path, [&](const json& object) {
      return !StringAt(MemberAt(object, "data"), name).empty();
    });
  }
  /// What the Secret has, decoded.
  std::string SecretOf(const char* secret, const char* name) {
    const json object = WaitForData(std::string("secrets/") + secret, name);
    return DecodeBase64(StringAt(MemberAt(object, "data"), name)).value_or("");
  }
  std::string NodesAuthority() { return SecretOf("ovn-tls-authority", "nodes.crt"); }
  Identity Central() {
    return {.key = SecretOf("ovn-tls-central", "tls.key"),
            .certificate = SecretOf("ovn-tls-central", "tls.crt")};
  }
  /// A token of a new kuryr-daemon's pod on that node.
  std::string TokenOnNode(const std::string& node) {
    const std::string pod = "kuryr-daemon-" + std::to_string(++pods_);
    const json made = api_->Post(std::string(kSystem) + "pods",
                                 {{"metadata", {{"name", pod}}},
                                  {"spec",
                                   {{"nodeName", node},
                                    {"serviceAccountName", "kuryr-daemon"},
                                    {"automountServiceAccountToken", false},
                                    {"containers", {{{"name", "c"}, {"image", "none"}}}}}}});
    const json token = api_->Post(std::string(kSystem) + "serviceaccounts/kuryr-daemon/token",
                                  {{"apiVersion", "authentication.k8s.io/v1"},
                                   {"kind", "TokenRequest"},
                                   {"spec",
                                    {{"boundObjectRef",
                                      {{"kind", "Pod"},
                                       {"apiVersion", "v1"},
                                       {"name", pod},
                                       {"uid", made["metadata"]["uid"]}}}}}});
    return token.at("status").at("token").get<std::string>();
  }
  /// The name of a request by the bearer of a token, or by the administrator without one.
  std::string Post(const std::string& request, const std::string& token = "") {
    watcher::ApiConfig config = Config();
    if (!token.empty()) config.token = {.file = "", .value = token};
    watcher::ApiClient bearer(config);
    const json made =
        bearer.Post(kRequests, {{"apiVersion", "certificates.k8s.io/v1"},
                                {"kind", "CertificateSigningRequest"},
                                {"metadata", {{"generateName", "node-"}}},
                                {"spec",
                                 {{"signerName", "kuryr.openstack.org/ovn-controller"},
                                  {"usages", {"digital signature", "client auth"}},
                                  {"request", EncodeBase64(request)}}}});
    return made.at("metadata").at("name").get<std::string>();
  }
  /// As Post; the request when it is answered.
  json Ask(const std::string& request, const std::string& token = "") {
    const std::string name = Post(request, token);
    return WaitFor(std::string(kRequests) + "/" + name, [](const json& object) {
      const json& status = MemberAt(object, "status");
      return !StringAt(status, "certificate").empty() || ConditionOf(object) == "Denied";
    });
  }
  static std::string ConditionOf(const json& object) {
    const json& conditions = MemberAt(MemberAt(object, "status"), "conditions");
    return conditions.empty() ? "" : StringAt(conditions.front(), "type");
  }
  static std::string CertificateOf(const json& object) {
    return DecodeBase64(StringAt(MemberAt(object, "status"), "certificate")).value_or("");
  }

  const TemporaryFolder folder_;
  controller::Config config_;
  controller::Reporter reporter_{true};
  controller::RoundMetrics metrics_;
  std::unique_ptr<controller::Informer> informer_;
  std::unique_ptr<Leading> leading_;
  int pods_ = 0;
};

TEST_F(IssuerTest, DatabasesAndTheLeaderGetKeysOfOneAuthority) {
  Lead();

  const Identity central = Central();
  const std::string authority = SecretOf("ovn-tls-authority", "central.crt");

  EXPECT_TRUE(certificates::IsIssuedBy(central, authority));
  EXPECT_EQ(SecretOf("ovn-tls-central", "ca.crt"), authority);
  EXPECT_EQ(SecretOf("ovn-tls-central", "nodes.crt"), NodesAuthority());
  EXPECT_EQ(WaitForData("configmaps/ovn-authority", "ca.crt")["data"]["ca.crt"], authority);
  auto own = certificates::FileSet(folder_.path() / "ovn").Read();
  while (own.empty()) own = certificates::FileSet(folder_.path() / "ovn").Read();
  EXPECT_TRUE(
      certificates::IsIssuedBy({.key = own["tls.key"], .certificate = own["tls.crt"]}, authority));
}

TEST_F(IssuerTest, NextLeaderKeepsTheKeysThatAreThere) {
  Lead();
  const std::string before = Central().certificate;
  (void)WaitForData("configmaps/ovn-authority", "ca.crt");

  Lead();
  (void)Ask(certificates::MakeRequest("a").request, TokenOnNode("node1"));

  EXPECT_EQ(Central().certificate, before);
}

TEST_F(IssuerTest, NodeGetsTheCertificateOfItsChassis) {
  Lead();
  const auto request = certificates::MakeRequest("system-id-1");

  const json answer = Ask(request.request, TokenOnNode("node1"));

  const Identity node = {.key = request.key, .certificate = CertificateOf(answer)};
  EXPECT_TRUE(certificates::IsIssuedBy(node, NodesAuthority()));
  EXPECT_EQ(certificates::ReadCertificate(node.certificate).name, "system-id-1");
  const json chassis = api_->Get(std::string(kSystem) + "configmaps/ovn-chassis");
  EXPECT_EQ(StringAt(MemberAt(chassis, "data"), "system-id-1"), "node1");
}

TEST_F(IssuerTest, NodeHasOneChassis) {
  Lead();
  const std::string token = TokenOnNode("node1");
  (void)Ask(certificates::MakeRequest("before").request, token);

  (void)Ask(certificates::MakeRequest("reinstalled").request, token);

  const json chassis = api_->Get(std::string(kSystem) + "configmaps/ovn-chassis");
  EXPECT_EQ(MemberAt(chassis, "data"), json({{"reinstalled", "node1"}}));
}

TEST_F(IssuerTest, ChassisIsOneNodesUntilThatIsGone) {
  Lead();
  const auto request = certificates::MakeRequest("system-id-1");
  (void)Ask(request.request, TokenOnNode("node1"));

  const json before = Ask(request.request, TokenOnNode("node2"));
  api_->Delete("/api/v1/nodes/node1");
  const json after = Ask(request.request, TokenOnNode("node2"));

  EXPECT_EQ(ConditionOf(before), "Denied");
  EXPECT_EQ(CertificateOf(before), "");
  EXPECT_EQ(ConditionOf(after), "Approved");
  EXPECT_NE(CertificateOf(after), "");
}

TEST_F(IssuerTest, OthersAndOtherNamesAreRefused) {
  Lead();

  const json administrators = Ask(certificates::MakeRequest("system-id-1").request);
  const json no_chassis = Ask(certificates::MakeRequest("a/b").request, TokenOnNode("node1"));

  EXPECT_EQ(ConditionOf(administrators), "Denied");
  EXPECT_EQ(ConditionOf(no_chassis), "Denied");
}

TEST_F(IssuerTest, ApprovalOfOthersBringsNoCertificate) {
  const std::string name = Post(certificates::MakeRequest("system-id-1").request);
  api_->Patch(
      std::string(kRequests) + "/" + name + "/approval", watcher::PatchType::kMerge,
      {{"status",
        {{"conditions", {{{"type", "Approved"}, {"status", "True"}, {"reason", "ByHand"}}}}}}});
  Lead();
  (void)Ask(certificates::MakeRequest("other").request, TokenOnNode("node1"));

  EXPECT_EQ(CertificateOf(api_->Get(std::string(kRequests) + "/" + name)), "");
}

TEST_F(IssuerTest, DueKeyIsReplaced) {
  constexpr std::chrono::seconds kShort{6};
  Lead(kShort);
  const std::string before = Central().certificate;

  const json after =
      WaitFor(std::string(kSystem) + "secrets/ovn-tls-central", [&](const json& object) {
        return DecodeBase64(StringAt(MemberAt(object, "data"), "tls.crt")) != before;
      });

  EXPECT_NE(Central().certificate, before);
  EXPECT_TRUE(certificates::IsIssuedBy(Central(), SecretOf("ovn-tls-authority", "central.crt")));
}

}  // namespace
}  // namespace kuryr::test
