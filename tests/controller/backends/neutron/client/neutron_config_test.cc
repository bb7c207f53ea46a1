#include "controller/backends/neutron/client/neutron_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "controller/backends/neutron/client/clouds_file.h"

namespace kuryr::controller::neutron {
namespace {

using Method = Identity::Method;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPassword =
    "[neutron]\nauth_type = password\nauth_url = https://keystone.example:5000\nusername = kuryr\n"
    "password = s3cret\nproject_name = k8s\nuser_domain_name = Default\n"
    "project_domain_name = Default\n";
constexpr const char* kCloud =
    "clouds:\n"
    "  other:\n    auth: {auth_url: 'https://other.example/v3'}\n"
    "  ours:\n"
    "    auth_type: v3applicationcredential\n"
    "    auth:\n"
    "      auth_url: https://cloud.example/identity\n"
    "      application_credential_id: \"0123\"\n"
    "      application_credential_secret: s3cret\n"
    "    region_name: RegionTwo\n"
    "    interface: internal\n"
    "    verify: false\n"
    "    network_endpoint_override: https://net.example/\n";

/// A folder of the test's own for kuryr.conf and clouds.yaml, and an environment.
class NeutronConfigTest : public ::testing::Test {
 protected:
  NeutronConfigTest() {
    std::string name = ::testing::TempDir() + "neutron-config-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~NeutronConfigTest() override { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& name, const std::string& text) {
    const std::filesystem::path file = folder_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }
  NeutronConfig Read(const std::string& conf) {
    const ConfigFiles files({File("kuryr.conf", conf)});
    return ReadNeutronConfig(files, [this](const char* name) {
      const auto found = environment_.find(name);
      return found == environment_.end() ? nullptr : found->second.c_str();
    });
  }
  std::string Refusal(const std::string& conf) {
    try {
      (void)Read(conf);
      return "none";
    } catch (const ConfigError& e) {
      EXPECT_THAT(e.what(), Not(HasSubstr("s3cret")));
      return e.what();
    }
  }

  std::filesystem::path folder_;
  std::map<std::string, std::string> environment_;
};

TEST_F(NeutronConfigTest, APasswordNeedsItsUserAndProject) {
  const NeutronConfig config = Read(kPassword);

  EXPECT_EQ(config.identity.method, Method::kPassword);
  EXPECT_EQ(config.identity.auth_url, "https://keystone.example:5000/v3");
  EXPECT_EQ(config.identity.user.name, "kuryr");
  EXPECT_EQ(config.identity.project.domain_name, "Default");
  EXPECT_EQ(config.identity.password, "s3cret");
  EXPECT_THAT(config.interfaces, ElementsAre("public"));
  EXPECT_TRUE(config.access.verify);
  EXPECT_EQ(config.max_requests, 8U);
  for (const char* option :
       {"username", "password", "project_name", "user_domain_name", "auth_url"}) {
    std::string conf = kPassword;
    conf.replace(conf.find(option), 1, "x");
    EXPECT_THAT(Refusal(conf), HasSubstr("[neutron] ")) << option;
  }
}

TEST_F(NeutronConfigTest, EveryOptionIsRead) {
  const NeutronConfig config = Read(
      "[neutron]\nauth_type = v3password\nauth_url = http://[fd00::1]:5000/v3/\nuser_id = u\n"
      "password = p\nproject_id = q\nregion_name = R\nvalid_interfaces = internal, publicURL\n"
      "endpoint_override = https://n.example\ninsecure = yes\ntimeout = 7\nmax_requests = 3\n"
      "request_rate = 20\ncafile = " +
      File("ca.pem", "x") + "\ncertfile = " + File("c.pem", "x") +
      "\nkeyfile = " + File("k.pem", "x") + "\n");

  EXPECT_EQ(config.identity.auth_url, "http://[fd00::1]:5000/v3");
  EXPECT_EQ(config.identity.user.id, "u");
  EXPECT_EQ(config.identity.project.id, "q");
  EXPECT_EQ(config.region_name, "R");
  EXPECT_THAT(config.interfaces, ElementsAre("internal", "public"));
  EXPECT_EQ(config.endpoint_override, "https://n.example");
  EXPECT_FALSE(config.access.verify);
  EXPECT_EQ(config.access.timeout, std::chrono::seconds(7));
  EXPECT_EQ(config.access.key_file, folder_ / "k.pem");
  EXPECT_EQ(config.max_requests, 3U);
  EXPECT_EQ(config.request_rate, 20U);
}

TEST_F(NeutronConfigTest, AnInterfaceHasItsOlderNamesToo) {
  const std::string conf = kPassword;

  EXPECT_THAT(Read(conf + "interface = admin\n").interfaces, ElementsAre("admin"));
  EXPECT_THAT(Read(conf + "endpoint_type = internalURL\n").interfaces, ElementsAre("internal"));
  EXPECT_THAT(Refusal(conf + "endpoint_type = secret\n"),
              HasSubstr("expected public, internal or admin"));
}

TEST_F(NeutronConfigTest, WithoutKeystoneAnEndpointIsNamed) {
  const NeutronConfig config =
      Read("[neutron]\nauth_type = none\nendpoint_override = http://127.0.0.1:9696\n");

  EXPECT_EQ(config.identity.method, Method::kNone);
  EXPECT_EQ(config.endpoint_override, "http://127.0.0.1:9696");
  EXPECT_THAT(Refusal("[neutron]\nauth_type = noauth\n"), HasSubstr("[neutron] endpoint_override"));
}

TEST_F(NeutronConfigTest, ADefaultDomainStandsInForBoth) {
  const NeutronConfig config = Read(
      "[neutron]\nauth_url = https://k.example\nusername = u\npassword = p\nproject_name = q\n"
      "default_domain_id = default\n");

  EXPECT_EQ(config.identity.user.domain_id, "default");
  EXPECT_EQ(config.identity.project.domain_id, "default");
}

TEST_F(NeutronConfigTest, ACloudIsReadFromItsFileAndOptionsWinOverIt) {
  environment_["OS_CLIENT_CONFIG_FILE"] = File("clouds.yaml", kCloud);

  const NeutronConfig config = Read("[neutron]\ncloud = ours\nregion_name = RegionThree\n");

  EXPECT_EQ(config.identity.method, Method::kApplicationCredential);
  EXPECT_EQ(config.identity.auth_url, "https://cloud.example/identity/v3");
  EXPECT_EQ(config.identity.credential.id, "0123");
  EXPECT_EQ(config.identity.credential_secret, "s3cret");
  EXPECT_EQ(config.region_name, "RegionThree");
  EXPECT_THAT(config.interfaces, ElementsAre("internal"));
  EXPECT_FALSE(config.access.verify);
  EXPECT_EQ(config.endpoint_override, "https://net.example");
}

TEST_F(NeutronConfigTest, ACloudOfTheEnvironmentCountsWhereKuryrConfNamesNoServer) {
  environment_["OS_CLOUD"] = "ours";
  environment_["HOME"] = folder_;
  File(".config/openstack/clouds.yaml", kCloud);

  EXPECT_EQ(Read("").identity.credential.id, "0123");
  EXPECT_EQ(Read(kPassword).identity.credential.id, "");
}

TEST_F(NeutronConfigTest, SecretsMayStandInAFileOfTheirOwn) {
  environment_["HOME"] = folder_;
  std::string cloud = kCloud;
  cloud.replace(cloud.find("s3cret"), 6, "public");
  File(".config/openstack/clouds.yaml", cloud);
  File(".config/openstack/secure.yaml",
       "clouds:\n  ours:\n    auth: {application_credential_secret: s3cret}\n");

  EXPECT_EQ(Read("[neutron]\ncloud = ours\n").identity.credential_secret, "s3cret");
}

TEST_F(NeutronConfigTest, TheEnvironmentCountsWhereNothingElseNamesAServer) {
  environment_ = {{"OS_AUTH_URL", "https://env.example/v3"},
                  {"OS_USERNAME", "u"},
                  {"OS_PASSWORD", "s3cret"},
                  {"OS_PROJECT_NAME", "q"},
                  {"OS_USER_DOMAIN_NAME", "D"},
                  {"OS_PROJECT_DOMAIN_ID", "d"},
                  {"OS_REGION_NAME", "R"},
                  {"OS_INTERFACE", "internal"},
                  {"OS_CACERT", File("ca.pem", "x")}};

  const NeutronConfig config = Read("[neutron]\nregion_name = Mine\n");

  EXPECT_EQ(config.identity.auth_url, "https://env.example/v3");
  EXPECT_EQ(config.identity.project.domain_id, "d");
  EXPECT_EQ(config.region_name, "Mine");
  EXPECT_THAT(config.interfaces, ElementsAre("internal"));
  EXPECT_EQ(config.access.ca_file, folder_ / "ca.pem");
  EXPECT_EQ(Read(kPassword).region_name, "");
}

TEST_F(NeutronConfigTest, WhatIsMalformedIsNamedWithoutSecrets) {
  EXPECT_THAT(Refusal("[neutron]\nauth_type = v3kerberos\n"),
              AllOf(HasSubstr("[neutron] auth_type"), HasSubstr("expected password")));
  EXPECT_THAT(Refusal("[neutron]\nauth_url = https://u:s3cret@k.example\n"),
              HasSubstr("[neutron] auth_url: names a user"));
  EXPECT_THAT(Refusal("[neutron]\nauth_url = keystone\n"), HasSubstr("has no scheme"));
  EXPECT_THAT(Refusal("[neutron]\nauth_url = https://k.example/?a=b\n"), HasSubstr("is no http"));
  EXPECT_THAT(Refusal(std::string(kPassword) + "max_requests = 0\n"),
              HasSubstr("[neutron] max_requests"));
  EXPECT_THAT(Refusal("[neutron]\nauth_url = https://k.example\nauth_type = "
                      "v3applicationcredential\napplication_credential_secret = s3cret\n"),
              HasSubstr("[neutron] application_credential_id: is not set"));
}

TEST_F(NeutronConfigTest, ACloudsFileThatCannotServeIsNamedWithoutSecrets) {
  environment_["HOME"] = folder_;
  const std::string conf = "[neutron]\ncloud = ours\n";
  EXPECT_THAT(Refusal(conf), HasSubstr("there is no clouds.yaml"));

  const std::map<std::string, std::string> files = {
      {"clouds: {other: {}}", "there is no cloud \"ours\""},
      {"clouds: [s3cret]", "clouds: is no mapping"},
      {"clouds: {ours: {auth: s3cret}}", "clouds: ours: auth: is no mapping"},
      {"clouds: {ours: {}, ours: {}}", "clouds: ours: stands there twice"},
      {"clouds: {ours: {profile: rackspace}}", "profiles are not known"},
      {"clouds: {ours: {password: s3cret", "malformed YAML at line 1"}};
  for (const auto& [text, reason] : files) {
    File(".config/openstack/clouds.yaml", text);
    EXPECT_THAT(Refusal(conf), HasSubstr(reason)) << text;
  }
}

TEST_F(NeutronConfigTest, WhatIsSentInClearTextIsWarnedOf) {
  const auto warning = [](const NeutronConfig& config) {
    ::testing::internal::CaptureStderr();
    WarnOfInsecureNeutron(config);
    return ::testing::internal::GetCapturedStderr();
  };
  NeutronConfig config = Read(kPassword);

  EXPECT_EQ(warning(config), "");
  config.access.verify = false;
  EXPECT_THAT(warning(config), HasSubstr("are not verified"));
  config.identity.auth_url = "http://k.example/v3";
  EXPECT_THAT(warning(config), AllOf(HasSubstr("clear text"), Not(HasSubstr("s3cret"))));
}

}  // namespace
}  // namespace kuryr::controller::neutron
