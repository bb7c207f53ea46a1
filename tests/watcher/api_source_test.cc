#include "watcher/api_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/fake_apiserver/fake_api_server.h"
#include "watcher/api_client.h"
#include "watcher/api_error.h"
#include "watcher/api_options.h"

namespace kuryr::watcher {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPath = "/api/v1/pods";

class ApiSourceTest : public ::testing::Test {
 protected:
  ApiSourceTest() {
    std::string pattern = ::testing::TempDir() + "api-source-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ApiSourceTest() override { std::filesystem::remove_all(folder_); }

  /// Writes by rename, as kubectl does.
  void Write(const std::string& text) {
    std::ofstream(folder_ / "new") << text;
    std::filesystem::rename(folder_ / "new", kubeconfig());
  }
  [[nodiscard]] static std::string Kubeconfig(
      const fake::FakeApiServer& server, const std::string& token,
      const std::string& ca = fake::FakeApiServer::ca_file()) {
    return "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
           "clusters: [{name: a, cluster: {server: '" +
           server.url() + "', certificate-authority: " + ca +
           "}}]\nusers: [{name: a, user: {token: " + token + "}}]\n";
  }
  /// The configuration of a program that has read kuryr.conf.
  [[nodiscard]] ApiConfig Config() const {
    std::ofstream(folder_ / "kuryr.conf") << "[kubernetes]\nkubeconfig = " << kubeconfig() << "\n";
    return ReadApiOptions(ConfigFiles({folder_ / "kuryr.conf"}),
                          [](const char*) { return nullptr; })
        .api;
  }
  static std::string Outcome(ApiClient& client) {
    try {
      return client.Get(kPath)["kind"];
    } catch (const std::exception& e) {
      return e.what();
    }
  }
  [[nodiscard]] std::string kubeconfig() const { return folder_ / "kubeconfig"; }

  std::filesystem::path folder_;
  fake::FakeApiServer server_{
      fake::Options{.tls = fake::TestTls(), .users = {{.name = "kuryr", .token = "good"}}}};
};

TEST_F(ApiSourceTest, AnInlineTokenThatSomebodyRenewedCountsFromTheNextRequestOn) {
  Write(Kubeconfig(server_, "good"));
  ApiClient client(Config());
  ASSERT_EQ(Outcome(client), "PodList");
  server_.SetUsers({{.name = "kuryr", .token = "renewed"}});
  ASSERT_THAT(Outcome(client), HasSubstr("answered 401"));

  Write(Kubeconfig(server_, "renewed"));

  EXPECT_EQ(Outcome(client), "PodList");
}

TEST_F(ApiSourceTest, AnAuthorityThatSomebodyRenewedCountsFromTheNextRequestOn) {
  Write(Kubeconfig(server_, "good", fake::CertificateFile("other-ca.crt")));
  ApiClient client(Config());
  ASSERT_THAT(Outcome(client), HasSubstr("certificate refused"));

  Write(Kubeconfig(server_, "good"));

  EXPECT_EQ(Outcome(client), "PodList");
}

TEST_F(ApiSourceTest, AServerThatIsElsewhereNowIsFound) {
  fake::FakeApiServer other(fake::Options{.tls = fake::TestTls()});
  Write(Kubeconfig(server_, "good"));
  ApiClient client(Config());
  ASSERT_EQ(Outcome(client), "PodList");
  server_.StopListening();

  Write(Kubeconfig(other, "any"));

  EXPECT_EQ(Outcome(client), "PodList");
  EXPECT_EQ(other.Requests().size(), 1);
}

TEST_F(ApiSourceTest, HalfAKubeconfigLeavesWhatItSaidBefore) {
  const std::string whole = Kubeconfig(server_, "good");
  Write(whole);
  ApiClient client(Config());

  Write(whole.substr(0, whole.size() / 2));
  EXPECT_EQ(Outcome(client), "PodList");
  std::filesystem::remove(kubeconfig());
  EXPECT_EQ(Outcome(client), "PodList");
}

TEST_F(ApiSourceTest, KuryrConfsOwnTokenStaysWhateverTheKubeconfigSays) {
  Write(Kubeconfig(server_, "bad"));
  std::ofstream(folder_ / "token") << "good";
  std::ofstream(folder_ / "kuryr.conf") << "[kubernetes]\nkubeconfig = " << kubeconfig()
                                        << "\ntoken_file = " << (folder_ / "token").string();
  ApiClient client(ReadApiOptions(ConfigFiles({folder_ / "kuryr.conf"}), [](const char*) {
                     return nullptr;
                   }).api);

  Write(Kubeconfig(server_, "worse"));

  EXPECT_EQ(Outcome(client), "PodList");
}

TEST_F(ApiSourceTest, TheFilesAreReadOnceForEachChange) {
  Write("a");
  size_t reads = 0;
  ApiSource source("/nowhere:" + kubeconfig(), [&] {
    if (++reads == 2) throw std::runtime_error("malformed");
    return ApiConfig{.api_root = "https://server-" + std::to_string(reads)};
  });
  const auto first = source.Newest();
  EXPECT_EQ(first, source.Newest());

  Write("bb");
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(source.Newest(), first);
  EXPECT_EQ(reads, 2);

  Write("ccc");
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(source.Newest()->api_root, "https://server-3");
  EXPECT_EQ(reads, 3);
}

}  // namespace
}  // namespace kuryr::watcher
