#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>

#include "binding/ovs/database.h"
#include "ovsdb/client.h"
#include "tests/binding/pod_attachment.h"
#include "tests/ovsdb/code_of.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr {
namespace {

using binding::kOpenVSwitchDatabase;
using binding::Soon;

/// ovsdb-server and clients that trust each other by one certificate, which is its own authority.
class OvsdbTlsTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    ovs_.emplace("/run");
  }

  void MakeKey(const std::string& name) {
    RunOnHost({"openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1",
               "-out", Key(name)});
  }
  void MakeCertificate(const std::string& name) {
    RunOnHost({"openssl", "req", "-x509", "-key", Key(name), "-subj", "/CN=" + name, "-out",
               Certificate(name)});
  }
  void Make(const std::string& name) {
    MakeKey(name);
    MakeCertificate(name);
  }
  [[nodiscard]] std::string Key(const std::string& name) const {
    return ovs_->folder() / (name + ".key");
  }
  [[nodiscard]] std::string Certificate(const std::string& name) const {
    return ovs_->folder() / (name + ".crt");
  }

  void ServeAs(const std::string& name) {
    ovs_->StopServer();
    ovs_->StartServer({"--remote=pssl:6641:127.0.0.1", "--private-key=" + Key(name),
                       "--certificate=" + Certificate(name), "--ca-cert=" + Certificate(name)});
  }
  void Use(const std::string& name) const {
    OvsdbClient::UseTls(Key(name), Certificate(name), Certificate(name));
  }
  /// Also sends a request: in TLS 1.3, a client hears only after its handshake that it is not
  /// trusted.
  static std::error_code Ask() {
    return CodeOf([] {
      (void)OvsdbClient(kOpenVSwitchDatabase, "ssl:127.0.0.1:6641")
          .Transact(nlohmann::json::array(), Soon());
    });
  }

 private:
  std::optional<test::PrivateOvs> ovs_;
};

constexpr auto kReplace = std::filesystem::copy_options::overwrite_existing;

TEST_F(OvsdbTlsTest, ServerIsVerified) {
  Make("own");
  Make("other");
  ServeAs("own");

  Use("missing");
  EXPECT_EQ(Ask().value(), ENOPROTOOPT);
  Use("own");
  EXPECT_EQ(Ask(), std::error_code());
  Use("other");
  EXPECT_NE(Ask(), std::error_code());
}

TEST_F(OvsdbTlsTest, FilesOfANewAuthorityAreReadForTheNextConnection) {
  Make("old");
  Make("new");
  std::filesystem::copy_file(Key("old"), Key("own"));
  std::filesystem::copy_file(Certificate("old"), Certificate("own"));
  Use("own");
  ServeAs("old");
  ASSERT_EQ(Ask(), std::error_code());

  ServeAs("new");
  EXPECT_NE(Ask(), std::error_code());
  std::filesystem::copy_file(Key("new"), Key("own"), kReplace);
  EXPECT_NE(Ask(), std::error_code());
  std::filesystem::copy_file(Certificate("new"), Certificate("own"), kReplace);
  EXPECT_EQ(Ask(), std::error_code());
}

TEST_F(OvsdbTlsTest, CertificateRenewedForTheSameKeyIsReadForTheNextConnection) {
  Make("old");
  std::filesystem::copy_file(Key("old"), Key("new"));
  MakeCertificate("new");
  std::filesystem::copy_file(Key("old"), Key("own"));
  std::filesystem::copy_file(Certificate("old"), Certificate("own"));
  Use("own");
  ServeAs("old");
  ASSERT_EQ(Ask(), std::error_code());

  ServeAs("new");
  EXPECT_NE(Ask(), std::error_code());
  std::filesystem::copy_file(Certificate("new"), Certificate("own"), kReplace);
  EXPECT_EQ(Ask(), std::error_code());
}

}  // namespace
}  // namespace kuryr
