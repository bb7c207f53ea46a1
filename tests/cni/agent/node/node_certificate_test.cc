#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "certificates/certificate.h"
#include "certificates/file_set.h"
#include "certificates/signing.h"
#include "tests/cni/agent/agent_fixture.h"

// The key of the node's ovn-controller, for which kuryr-daemon asks.

namespace kuryr::test {
namespace {

using certificates::Identity;
using nlohmann::json;
using ::testing::SizeIs;

constexpr const char* kPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
constexpr const char* kPlural = "certificatesigningrequests";

class NodeCertificateTest : public AgentTest {
 protected:
  void SetUp() override {
    PluginTest::SetUp();
    ovs_->Vsctl({"set", "Open_vSwitch", ".", "external_ids:system-id=chassis-1"});
    std::ofstream(work_ / "nodes.crt") << authority_.certificate;
  }
  void StartAsking(size_t watches = kAgentWatches + 1) {
    StartAgentWith("[ovn]\nissue_certificates = true\nnode_authority = " +
                       (work_ / "nodes.crt").string() + "\n",
                   "", watches);
  }
  [[nodiscard]] std::vector<json> Asked() const { return api_->List(kPlural); }
  void Patch(const json& request, const json& status) {
    api_->Patch(kPlural, "", request["metadata"]["name"], {{"status", status}});
  }
  /// As kuryr-controller does.
  void Grant(const json& request) {
    const std::string wanted = DecodeBase64(request["spec"]["request"]).value();
    Patch(request, {{"certificate",
                     EncodeBase64(certificates::Sign(authority_, wanted, std::chrono::hours(1)))}});
  }
  void WaitForKey() { WaitFor("has a new key for OVN"); }
  [[nodiscard]] Identity Key() const {
    auto files = certificates::FileSet(work_ / "state" / certificates::kOvnFolder).Read();
    return {.key = files[certificates::kKeyFile],
            .certificate = files[certificates::kCertificateFile]};
  }

  const Identity authority_ = certificates::MakeAuthority("nodes", std::chrono::hours(2));
};

TEST_F(NodeCertificateTest, KeyIsOfTheChassisAndOfTheAuthorityOfNodes) {
  StartAsking();

  Grant(Asked().at(0));
  WaitForKey();

  EXPECT_EQ(certificates::ReadCertificate(Key().certificate).name, "chassis-1");
  EXPECT_TRUE(certificates::IsIssuedBy(Key(), authority_.certificate));
}

TEST_F(NodeCertificateTest, RequestThatNobodyAnswersIsAwaitedAgain) {
  StartAsking();

  for (size_t watches = 2; watches < 4; ++watches) {
    api_->EndWatches();
    ASSERT_TRUE(api_->WaitForRequest("watch", kPath, watches));
    ASSERT_TRUE(api_->WaitForWatches(kAgentWatches + 1));
  }
  EXPECT_THAT(Asked(), SizeIs(1));
  Grant(Asked().at(0));
  WaitForKey();

  EXPECT_TRUE(certificates::IsIssuedBy(Key(), authority_.certificate));
}

TEST_F(NodeCertificateTest, AnswerThatCameBetweenTwoWatchesIsTaken) {
  StartAsking();

  fake::Fault fault = fake::Fault::Status(500, "later");
  fault.verb = "watch";
  fault.path_prefix = kPath;
  api_->Inject(fault);
  api_->EndWatches();
  ASSERT_TRUE(api_->WaitForRequest("watch", kPath, 2));
  Grant(Asked().at(0));
  WaitForKey();

  EXPECT_THAT(Asked(), SizeIs(1));
}

TEST_F(NodeCertificateTest, RefusalIsLoggedAndAnotherRequestFollows) {
  StartAsking();

  Patch(Asked().at(0),
        {{"conditions", {{{"type", "Denied"}, {"message", "chassis chassis-1 is node2's"}}}}});
  WaitFor("kuryr-controller refuses: chassis chassis-1 is node2's");
  ASSERT_TRUE(api_->WaitForRequest("create", kPath, 2));
}

TEST_F(NodeCertificateTest, FileThatWasCutOffIsReplaced) {
  const Identity whole = certificates::Issue(authority_, "chassis-1", std::chrono::hours(1));
  certificates::FileSet(work_ / "state" / certificates::kOvnFolder)
      .Write({{certificates::kKeyFile, whole.key},
              {certificates::kCertificateFile, whole.certificate.substr(0, 100)}});
  StartAsking();

  Grant(Asked().at(0));
  WaitForKey();

  EXPECT_TRUE(certificates::IsIssuedBy(Key(), authority_.certificate));
}

TEST_F(NodeCertificateTest, KeyThatIsGoodIsKept) {
  const Identity good = certificates::Issue(authority_, "chassis-1", std::chrono::hours(1));
  certificates::FileSet(work_ / "state" / certificates::kOvnFolder)
      .Write(
          {{certificates::kKeyFile, good.key}, {certificates::kCertificateFile, good.certificate}});
  StartAsking(kAgentWatches);

  EXPECT_EQ(Run("ADD", ActivePod("a")).status, 0);

  EXPECT_THAT(Asked(), SizeIs(0));
  EXPECT_EQ(Key().certificate, good.certificate);
}

}  // namespace
}  // namespace kuryr::test
