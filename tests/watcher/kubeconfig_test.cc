#include "watcher/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace kuryr::watcher {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

std::string Names(const std::string& context, const std::string& cluster, const std::string& user) {
  return "current-context: " + context + "\ncontexts: [{name: " + context +
         ", context: {cluster: " + cluster + ", user: " + user + "}}]\n";
}

std::string Cluster(const std::string& fields) {
  return "clusters: [{name: c, cluster: {" + fields + "}}]\n";
}

std::string User(const std::string& fields) {
  return "users: [{name: u, user: {" + fields + "}}]\n";
}

constexpr const char* kServer = "server: 'https://10.0.0.1:6443'";

/// A kubeconfig whose user has these fields.
std::string WithUser(const std::string& fields) {
  return Names("x", "c", "u") + Cluster(kServer) + User(fields);
}

/// A kubeconfig whose cluster has these fields.
std::string WithCluster(const std::string& fields) {
  return Names("x", "c", "u") + Cluster(fields) + User("token: t");
}

std::string Repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

class KubeconfigTest : public ::testing::Test {
 protected:
  KubeconfigTest() {
    std::string pattern = ::testing::TempDir() + "kubeconfig-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~KubeconfigTest() override { fs::remove_all(dir_); }

  std::string File(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name) << text;
    return dir_ / name;
  }
  ApiConfig Load(const std::string& text) { return LoadKubeconfig(File("config", text)); }

  /// The error of a kubeconfig that cannot be used. Requires that it contains no secret of it.
  std::string Refusal(const std::string& text) {
    try {
      (void)Load(text);
    } catch (const ParseError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr((dir_ / "config").string()), Not(HasSubstr("s3cret"))));
      return e.what();
    }
    ADD_FAILURE() << "accepted: " << text;
    return {};
  }

  fs::path dir_;
};

TEST_F(KubeconfigTest, WhatKubeadmWritesIsRead) {
  const ApiConfig api = Load(
      "apiVersion: v1\n"
      "clusters:\n"
      "- cluster:\n"
      "    certificate-authority-data: LS0tQ0E=\n"
      "    server: https://[fd00::1]:6443\n"
      "  name: kubernetes\n"
      "contexts:\n"
      "- context:\n"
      "    cluster: kubernetes\n"
      "    user: kubernetes-admin\n"
      "  name: kubernetes-admin@kubernetes\n"
      "current-context: kubernetes-admin@kubernetes\n"
      "kind: Config\n"
      "preferences: {}\n"
      "users:\n"
      "- name: kubernetes-admin\n"
      "  user:\n"
      "    client-certificate-data: LS0tQ0VSVA==\n"
      "    client-key-data: |\n"
      "      LS0t\n"
      "      S0VZ\n");

  EXPECT_EQ(api.api_root, "https://[fd00::1]:6443");
  EXPECT_EQ(api.ca.value, "---CA");
  EXPECT_EQ(api.client_cert.value, "---CERT");
  EXPECT_EQ(api.client_key.value, "---KEY");
  EXPECT_TRUE(api.token.empty());
  EXPECT_TRUE(api.tls_server_name.empty());
  EXPECT_TRUE(api.verify_server);
}

TEST_F(KubeconfigTest, JsonIsYaml) {
  const ApiConfig api = Load(R"({"apiVersion":"v1","kind":"Config","current-context":"x",)"
                             R"("contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],)"
                             R"("clusters":[{"name":"c","cluster":{"server":"https://a"}}],)"
                             R"("users":[{"name":"u","user":{"token":"t"}}]})");

  EXPECT_EQ(api.api_root, "https://a");
  EXPECT_EQ(api.token.value, "t");
}

TEST_F(KubeconfigTest, FilesAreFoundFromTheKubeconfigsFolder) {
  fs::create_directory(dir_ / "pki");
  const std::string ca = File("pki/ca.crt", "ca");
  const std::string cert = File("pki/client.crt", "cert");
  const std::string key = File("pki/client.key", "key");
  const std::string token = File("pki/token", "t");

  const ApiConfig api =
      Load(Names("x", "c", "u") + Cluster(std::string(kServer) + ", certificate-authority: " + ca) +
           User("client-certificate: pki/client.crt, client-key: pki/client.key, "
                "tokenFile: pki/token"));

  EXPECT_EQ(api.ca.file, ca);
  EXPECT_EQ(api.client_cert.file, cert);
  EXPECT_EQ(api.client_key.file, key);
  EXPECT_EQ(api.token.file, token);
}

TEST_F(KubeconfigTest, TheServersNameAndVerificationAreTheClusters) {
  const ApiConfig api = Load(WithCluster(
      "server: 'https://a', tls-server-name: kubernetes.default, insecure-skip-tls-verify: true"));

  EXPECT_EQ(api.tls_server_name, "kubernetes.default");
  EXPECT_FALSE(api.verify_server);
}

TEST_F(KubeconfigTest, ATokenFileWinsOverATokenWhileItIsThere) {
  const std::string both = WithUser("token: t, tokenFile: token");
  EXPECT_EQ(Load(both).token.value, "t");

  const std::string file = File("token", "newer");
  const Secret token = Load(both).token;

  EXPECT_EQ(token.file, file);
  EXPECT_EQ(token.value, "");
}

TEST_F(KubeconfigTest, OfSeveralFilesTheFirstDefinitionCounts) {
  const std::string contexts = File("1", Names("x", "c", "u") + Cluster("server: 'https://first'"));
  fs::create_directory(dir_ / "sub");
  const std::string users =
      File("sub/2", "current-context: other\n" + Cluster("server: 'https://second', proxy-url: p") +
                        User("tokenFile: token"));
  const std::string token = File("sub/token", "t");

  const ApiConfig api = LoadKubeconfig("/nowhere/config:" + contexts + "::" + users);

  EXPECT_EQ(api.api_root, "https://first");
  EXPECT_EQ(api.token.file, token);
}

TEST_F(KubeconfigTest, OfSeveralFilesOneMustBeThere) {
  EXPECT_THROW((void)LoadKubeconfig("/nowhere/a:/nowhere/b"), ParseError);
  EXPECT_THROW((void)LoadKubeconfig(":"), ParseError);
  EXPECT_THROW((void)LoadKubeconfig(dir_), ParseError);
}

TEST_F(KubeconfigTest, AFileThatCannotBeReadIsRefusedEvenIfAnotherWouldDo) {
  const std::string good = File("good", WithUser("token: t"));
  EXPECT_THROW((void)LoadKubeconfig(good + ":" + File("bad", "users: [")), ParseError);
  EXPECT_THROW((void)LoadKubeconfig("/dev/null/config:" + good), ParseError);
}

TEST_F(KubeconfigTest, TheClusterAloneDoesNotAskForTheUser) {
  const std::string file = File("config", WithUser("exec: {command: aws}"));

  const ApiConfig api = LoadKubeconfigCluster(file);

  EXPECT_EQ(api.api_root, "https://10.0.0.1:6443");
  EXPECT_TRUE(api.token.empty());
}

TEST_F(KubeconfigTest, AUserThatWeCannotBeIsRefusedWithAWayOut) {
  for (const char* field :
       {"exec: {command: aws}", "auth-provider: {name: gcp}", "username: s3cret",
        "password: s3cret", "as: admin", "as-uid: '0'", "as-groups: ['system:masters']"}) {
    const std::string key = std::string(field).substr(0, std::string(field).find(':'));

    EXPECT_THAT(Refusal(WithUser(std::string(field) + ", token: s3cret")),
                AllOf(HasSubstr("user \"u\": " + key + ": "), HasSubstr("token_file")));
  }
}

TEST_F(KubeconfigTest, AMalformedUserIsRefused) {
  for (const auto& [fields, reason] : std::vector<std::pair<std::string, std::string>>{
           {"token: [s3cret]", "token: is no string"},
           {"token: s3cret, token: other", "token: stands there twice"},
           {"tokenFile: /nowhere/token", "tokenFile: cannot read /nowhere/token: No such file"},
           {"client-certificate-data: LS0t", "client-key: is missing"},
           {"client-certificate: /nowhere/crt", "client-certificate: cannot read /nowhere/crt"},
           {"client-certificate: /dev/null, client-certificate-data: LS0t", "keep one of them"},
           {"client-certificate-data: LS0t, client-key-data: s3cret", "client-key-data: is no"}}) {
    EXPECT_THAT(Refusal(WithUser(fields)), AllOf(HasSubstr("user \"u\": "), HasSubstr(reason)));
  }
}

TEST_F(KubeconfigTest, Base64IsStrict) {
  for (const char* data : {"LS0", "LS0t=", "LS0tQ===", "LS=t", "LS0t LS0t", "' LS0tLS0'", "LS0_",
                           "LS0tLS0t----", "====", "\"\\n\""}) {
    EXPECT_THAT(
        Refusal(WithCluster(std::string(kServer) + ", certificate-authority-data: " + data)),
        HasSubstr("cluster \"c\": certificate-authority-data: is no base64"));
  }
}

TEST_F(KubeconfigTest, AMalformedClusterIsRefused) {
  for (const auto& [fields, reason] : std::vector<std::pair<std::string, std::string>>{
           {"tls-server-name: a", "server: \"\" has no scheme"},
           {"server: 'a:6443'", "server: \"a:6443\" has no scheme"},
           {"server: 'https://a', proxy-url: 'http://s3cret@p'", "proxy-url: "},
           {"server: 'https://a', insecure-skip-tls-verify: perhaps", "is no boolean"},
           {"server: 'https://a', insecure-skip-tls-verify: true, "
            "certificate-authority-data: LS0t",
            "insecure-skip-tls-verify: is on beside a certificate authority"}}) {
    EXPECT_THAT(Refusal(WithCluster(fields)),
                AllOf(HasSubstr("cluster \"c\": "), HasSubstr(reason)));
  }
}

TEST_F(KubeconfigTest, NamesThatLeadNowhereAreRefused) {
  const std::string rest = Cluster(kServer) + User("token: s3cret");
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"", "current-context: is not set"},
           {"current-context: y\n" + rest, "current-context: there is no context \"y\""},
           {Names("x", "d", "u") + rest, "context \"x\": cluster: there is no cluster \"d\""},
           {Names("x", "c", "v") + rest, "context \"x\": user: there is no user \"v\""},
           {Names("x", "''", "u") + rest, "context \"x\": cluster: is not set"},
           {Names("x", "c", "''") + rest, "context \"x\": user: is not set"},
           {Names("x", "c", "u") + rest + "users: []\n", "users: stands there twice"},
           {Names("x", "c", "u") + Cluster(kServer) + "users: [{name: u}, {name: u}]\n",
            "user \"u\": stands there twice"}}) {
    EXPECT_THAT(Refusal(text), HasSubstr(reason));
  }
}

TEST_F(KubeconfigTest, WhatIsNoKubeconfigIsRefused) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"users: [", "malformed YAML at line 1, column "},
           {"token: *s3cret\n", "the referenced anchor is not defined"},
           {"%YAML s3cret\n---\n", "bad YAML version"},
           {"just text\n", "is no mapping"},
           {"- a\n", "is no mapping"},
           {"current-context: x\ncontexts: x\n", "contexts: is no list"},
           {"current-context: x\ncontexts: [x]\n", "contexts: is no mapping"},
           {"kind: Pod\n", "kind: \"Pod\" is not known; expected Config"},
           {"apiVersion: v2\n", "apiVersion: \"v2\" is not known; expected v1"},
           {std::string(1 << 20, ' ') + "a", "is larger than 1 MiB"}}) {
    EXPECT_THAT(Refusal(text), HasSubstr(reason));
  }
}

TEST_F(KubeconfigTest, NoDepthHurts) {
  std::string indented;
  for (size_t i = 0; i < 1000; ++i) indented += std::string(i, ' ') + "a:\n";
  for (const std::string& text : {Repeat("[", 100000), Repeat("{a: ", 100000), Repeat("- ", 100000),
                                  Repeat("? ", 100000), indented}) {
    EXPECT_THAT(Refusal(text), HasSubstr("nested too deeply"));
  }
}

TEST_F(KubeconfigTest, AliasesAreFollowedAndNotCopied) {
  std::string bomb = "a0: &a0 [x]\n";
  for (int i = 1; i < 100; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before +
            "]\n";
  }

  const ApiConfig api =
      Load(bomb + "shared: &u {token: t}\nloop: &loop [*loop]\n" + Names("x", "c", "u") +
           Cluster(kServer) + "users: [{name: u, user: *u}]\n");

  EXPECT_EQ(api.token.value, "t");
}

}  // namespace
}  // namespace kuryr::watcher
