#include "controller/backends/ovn/ovn_options.h"

#include <gmock/gmock.h>

#include "tests/controller/backends/ovn/ovn_text.h"

namespace kuryr::controller::ovn {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNodes =
    "[node_network]\nenabled = true\n[pool:pods]\nfrom_node = true\ndefault = true\n";

TEST(OvnOptionsTest, HaveDefaults) {
  const OvnOptions options = ReadOptionsOf(kNodes);

  EXPECT_EQ(options.nb_connection, "unix:/var/run/ovn/ovnnb_db.sock");
  EXPECT_EQ(options.cluster, "kuryr");
  ASSERT_EQ(options.pools.size(), 1);
  EXPECT_TRUE(options.pools[0].for_nodes);
  EXPECT_FALSE(options.pools[0].routed) << "the router is the gateway";
  EXPECT_EQ(options.pools[0].mtu, 1400) << "leaves place for Geneve";
}

TEST(OvnOptionsTest, PoolsMayHaveAnotherMtu) {
  EXPECT_EQ(ReadOptionsOf(std::string(kNodes) + "mtu = 8900\n").pools[0].mtu, 8900);
}

TEST(OvnOptionsTest, IssuedKeysAreInTheStateDirectory) {
  const OvnOptions options = ReadOptionsOf(
      "[cni_daemon]\nstate_dir = /run/other\n[ovn]\nissue_certificates = true\n"
      "certificate_lifetime = 3600\nnb_connection = ssl:192.0.2.1:6641\n" +
      std::string(kNodes));

  EXPECT_TRUE(options.issues_certificates);
  EXPECT_EQ(options.certificate_lifetime, std::chrono::hours(1));
  EXPECT_EQ(options.certificate_folder, "/run/other/ovn");
  EXPECT_EQ(options.nb_private_key, "/run/other/ovn/current/tls.key");
  EXPECT_EQ(options.nb_ca_cert, "/run/other/ovn/current/ca.crt");
}

struct BadOptions {
  const char* name;
  const char* text;
  const char* error;
};
void PrintTo(const BadOptions& bad, std::ostream* out) { *out << bad.name; }

class BadOptionsTest : public ::testing::TestWithParam<BadOptions> {};

TEST_P(BadOptionsTest, AreRefused) {
  try {
    (void)ReadOptionsOf(GetParam().text);
    FAIL() << "taken";
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(), HasSubstr(GetParam().error));
  }
}

INSTANTIATE_TEST_SUITE_P(
    OvnOptions, BadOptionsTest,
    ::testing::Values(
        BadOptions{"Scheme", "[ovn]\nnb_connection = http://1.2.3.4\n",
                   "[ovn] nb_connection: \"http://1.2.3.4\"; expected unix:FILE"},
        BadOptions{"NoServer", "[ovn]\nnb_connection = ,\n", "[ovn] nb_connection: has no server"},
        BadOptions{"Tls", "[ovn]\nnb_connection = ssl:1.2.3.4:6641\n",
                   "[ovn] nb_private_key: is missing: an ssl: connection needs it"},
        BadOptions{"OtherKey", "[ovn]\nissue_certificates = true\nnb_private_key = /etc/passwd\n",
                   "[ovn] nb_private_key: issue_certificates makes this file: leave it out"},
        BadOptions{"Lifetime", "[ovn]\nissue_certificates = true\ncertificate_lifetime = 5\n",
                   "[ovn] certificate_lifetime: "},
        BadOptions{"Services", "[ovn]\nservices = cilium\n",
                   "[ovn] services: \"cilium\"; expected kube-proxy or ovn"},
        BadOptions{"Cluster", "[ovn]\ncluster = a b\n", "[ovn] cluster: \"a b\" is no DNS name"},
        BadOptions{"Kind", "[pool:a]\nvif = macvlan\ncidr = 10.1.0.0/24\n",
                   "[pool:a] vif: backend = ovn has pools with vif = ovs alone"},
        BadOptions{"NoNodes", "[pool:a]\nfrom_node = true\n",
                   "[pool:a] from_node: needs a gateway and [node_network] enabled = true"}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace kuryr::controller::ovn
