#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/cni/plugin/plugin_fixture.h"

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Base64(const std::string& file) {
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::string encoded((text.size() + 2) / 3 * 4 + 1, '\0');
  encoded.resize(static_cast<size_t>(EVP_EncodeBlock(
      reinterpret_cast<unsigned char*>(encoded.data()),
      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()))));
  return encoded;
}

/// The API is on ::1 and knows one user, by certificate only; kuryr.conf says nothing of it.
class KubeconfigTest : public PluginTest {
 protected:
  void SetUp() override {
    PluginTest::SetUp();
    fake::TlsFiles tls = fake::TestTls();
    tls.client_ca = fake::CertificateFile("ca.crt");
    api_ = std::make_unique<fake::FakeApiServer>(
        fake::Options{.address = "::1", .tls = tls, .users = {{.name = "test-client"}}});
    WriteConfig("");
  }

  /// With everything in it. Its path.
  std::string Kubeconfig(const json& cluster) {
    json kubeconfig = {{"apiVersion", "v1"},
                       {"kind", "Config"},
                       {"current-context", "node"},
                       {"contexts", {{{"name", "node"}, {"context", {}}}}},
                       {"clusters", {{{"name", "here"}, {"cluster", cluster}}}},
                       {"users", {{{"name", "kuryr"}, {"user", {}}}}}};
    kubeconfig["contexts"][0]["context"] = {{"cluster", "here"}, {"user", "kuryr"}};
    kubeconfig["clusters"][0]["cluster"]["server"] = api_->url();
    kubeconfig["users"][0]["user"] = {
        {"client-certificate-data", Base64(fake::CertificateFile("client.crt"))},
        {"client-key-data", Base64(fake::CertificateFile("client.key"))}};
    std::ofstream(work_ / "kubeconfig") << kubeconfig.dump(2);
    return work_ / "kubeconfig";
  }
};

TEST_F(KubeconfigTest, AKubeconfigIsAllThatAnAddNeeds) {
  const std::string file =
      Kubeconfig({{"certificate-authority-data", Base64(fake::FakeApiServer::ca_file())}});
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));

  const ProcessResult result = Run("ADD", pod, {{"KUBECONFIG", file}});

  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});
}

TEST_F(KubeconfigTest, VerificationSwitchedOffIsWarnedOfAtEveryStart) {
  const std::string file = Kubeconfig({{"insecure-skip-tls-verify", true}});
  WriteConfig("kubeconfig = " + file + "\n");
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));

  const ProcessResult result = Run("ADD", pod);

  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("level=warning"), HasSubstr("is not verified"),
                                HasSubstr("kuryr.conf: [kubernetes] kubeconfig " + file)));
}

TEST_F(KubeconfigTest, AnIdentityThatHttpDoesNotSendIsWarnedOfAtEveryStart) {
  api_ = std::make_unique<fake::FakeApiServer>();
  WriteConfig("kubeconfig = " + Kubeconfig(json::object()) + "\n");
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));

  const ProcessResult result = Run("ADD", pod);

  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("level=warning"),
                                HasSubstr("sent no token and no client certificate"),
                                HasSubstr("api_root=" + api_->url())));
}

TEST_F(KubeconfigTest, OneThatCannotBeUsedIsAConfigurationError) {
  std::ofstream(work_ / "kubeconfig") << "current-context: gone\n";

  const json error = FailedAdd(MakePod("nginx"), {{"KUBECONFIG", (work_ / "kubeconfig").string()}});

  EXPECT_EQ(error["code"], 7);
  EXPECT_THAT(error["msg"], HasSubstr("there is no context \"gone\""));
}

TEST_F(KubeconfigTest, OneThatCannotBeUsedDoesNotStopADel) {
  const std::string file =
      Kubeconfig({{"certificate-authority-data", Base64(fake::FakeApiServer::ca_file())}});
  WriteConfig("kubeconfig = " + file + "\n");
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));
  ASSERT_EQ(Run("ADD", pod).status, 0);
  std::ofstream(file) << "current-context: gone\n";

  const ProcessResult result = Run("DEL", pod);

  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_TRUE(Ports().empty());
}

}  // namespace
}  // namespace kuryr::test
