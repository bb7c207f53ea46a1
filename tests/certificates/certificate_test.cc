#include "certificates/certificate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "certificates/signing.h"
#include "tests/support/temporary_folder.h"

namespace kuryr::certificates {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using Clock = std::chrono::system_clock;

class CertificateTest : public ::testing::Test {
 protected:
  /// Whether the openssl program accepts the certificate for a purpose; `between`: of who may have
  /// signed it in the authority's name.
  bool Verifies(const std::string& certificate, const std::string& purpose,
                const std::string& between = "") {
    const auto write = [&](const char* name, const std::string& text) {
      std::ofstream(folder_.path() / name) << text;
      return (folder_.path() / name).string();
    };
    const std::string command = "openssl verify -x509_strict -purpose " + purpose + " -CAfile " +
                                write("ca", authority_.certificate) + " " +
                                (between.empty() ? "" : "-untrusted " + write("between", between)) +
                                " " + write("leaf", certificate) + " >/dev/null 2>&1";
    return std::system(command.c_str()) == 0;  // NOLINT(concurrency-mt-unsafe)
  }

  const test::TemporaryFolder folder_;
  const Identity authority_ = MakeAuthority("authority", 24h);
};

TEST_F(CertificateTest, IssuedOneServesBothEndsOfAConnection) {
  const Identity issued = Issue(authority_, "ovn-central", 1h);

  EXPECT_TRUE(Verifies(issued.certificate, "sslserver"));
  EXPECT_TRUE(Verifies(issued.certificate, "sslclient"));
  EXPECT_EQ(ReadCertificate(issued.certificate).name, "ovn-central");
}

TEST_F(CertificateTest, SignedOneHasTheRequestsKeyAndName) {
  const KeyRequest request = MakeRequest("f3a1b0");

  const Identity node = {.key = request.key, .certificate = Sign(authority_, request.request, 1h)};

  EXPECT_EQ(NameIn(request.request), "f3a1b0");
  EXPECT_EQ(ReadCertificate(node.certificate).name, "f3a1b0");
  EXPECT_TRUE(IsIssuedBy(node, authority_.certificate));
  EXPECT_TRUE(Verifies(node.certificate, "sslclient"));
}

TEST_F(CertificateTest, IssuedOneSignsNoOther) {
  const Identity issued = Issue(authority_, "ovn-central", 1h);
  const KeyRequest request = MakeRequest("other");

  EXPECT_FALSE(Verifies(Sign(issued, request.request, 1h), "sslclient", issued.certificate));
}

TEST_F(CertificateTest, KeyOrAuthorityOfOthersIsNotTheOne) {
  const Identity issued = Issue(authority_, "one", 1h);
  const Identity other = Issue(authority_, "one", 1h);
  const Identity namesake = MakeAuthority("authority", 24h);

  EXPECT_TRUE(IsIssuedBy(issued, authority_.certificate));
  EXPECT_FALSE(
      IsIssuedBy({.key = other.key, .certificate = issued.certificate}, authority_.certificate));
  EXPECT_FALSE(IsIssuedBy(issued, namesake.certificate));
  EXPECT_FALSE(IsIssuedBy({}, authority_.certificate));
}

TEST_F(CertificateTest, NewOneIsDueAfterTwoThirdsOfItsLife) {
  const auto before = Clock::now();

  const CertificateFacts facts = ReadCertificate(Issue(authority_, "one", 3h).certificate);

  EXPECT_LT(facts.from, before);
  EXPECT_GT(facts.RenewalAt(), before + 110min);
  EXPECT_LT(facts.RenewalAt(), before + 121min);
}

TEST_F(CertificateTest, ShortLivedOneIsNotDueAtOnce) {
  const CertificateFacts facts =
      ReadCertificate(Issue(authority_, "one", std::chrono::seconds(60)).certificate);

  EXPECT_GT(facts.RenewalAt(), Clock::now() + std::chrono::seconds(30));
}

TEST_F(CertificateTest, RequestWhoseKeyHasNotSignedItIsRefused) {
  const std::string request = MakeRequest("node").request;
  std::string changed = request;
  // A byte of the signature, which stands last.
  char& digit = changed[changed.find("\n-----END") - 8];
  digit = digit == 'A' ? 'B' : 'A';

  EXPECT_THROW((void)NameIn(changed), CertificateError);
  EXPECT_THROW((void)NameIn("nothing"), CertificateError);
  EXPECT_THROW((void)Sign(authority_, changed, 1h), CertificateError);
}

TEST_F(CertificateTest, RequestForMoreThanACommonNameIsRefused) {
  const std::string file = folder_.path() / "request";
  const std::string command =
      "openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout /dev/null "
      "-subj /O=system:masters/CN=node -out " +
      file + " 2>/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT(concurrency-mt-unsafe)
  std::ifstream in(file);

  EXPECT_THROW((void)NameIn({std::istreambuf_iterator<char>(in), {}}), CertificateError);
}

}  // namespace
}  // namespace kuryr::certificates
