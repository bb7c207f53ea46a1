#include "controller/config.h"
#include "controller/backends/neutron/neutron_factory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/rollback.h"
#include "tests/support/paths.h"

// The backend that kuryr.conf names, and its options.

namespace kuryr::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Config Load(const std::string& text) {
  std::string name = (std::filesystem::temp_directory_path() / "kuryr-conf-XXXXXX").string();
  ::close(::mkstemp(name.data()));
  const Rollback remove([&] { std::filesystem::remove(name); });
  std::ofstream(name) << text << std::flush;
  return LoadConfig({name}, [](const char*) -> const char* { return nullptr; });
}

std::string WhyRefused(const std::string& text) {
  try {
    (void)Load(text);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

/// The first example on a page of docs/.
std::string Example(const std::string& page) {
  std::stringstream text;
  text << std::ifstream(test::SourceDir() + "/docs/" + page).rdbuf();
  const std::string all = text.str();
  const size_t begin = all.find("```ini\n") + 7;
  return all.substr(begin, all.find("```", begin) - begin);
}

neutron::PodDefaults PodsOf(const Config& config) {
  return dynamic_cast<const neutron::NeutronFactory&>(*config.backend).pods();
}

constexpr const char* kNeutron =
    "[controller]\nbackend = neutron\n[neutron]\nauth_type = none\n"
    "endpoint_override = http://127.0.0.1:9696\n[neutron_defaults]\n";
constexpr const char* kSubnet = "pod_subnet = a26eeeca-dce2-416d-a18e-748a37d60d23\n";

constexpr const char* kGroups = "pod_security_groups = 9ebc225a-aa2a-44fa-9a71-0a1e1e0c9adf\n";

TEST(ConfigTest, PoolsAreOffUnlessADriverIsNamed) {
  const std::string neutron = std::string(kNeutron) + kSubnet;
  EXPECT_FALSE(PodsOf(Load(neutron)).pool.enabled);
  EXPECT_FALSE(PodsOf(Load(neutron + "[kubernetes]\nvif_pool_driver = noop\n")).pool.enabled);

  const auto pool =
      PodsOf(Load(neutron + kGroups +
                  "[kubernetes]\nvif_pool_driver = neutron\n[vif_pool]\nports_pool_min = 2\n"
                  "ports_pool_max = 9\nports_pool_batch = 4\n"
                  "ports_pool_update_frequency = 30\n"))
          .pool;

  EXPECT_TRUE(pool.enabled);
  EXPECT_EQ(pool.least, 2U);
  EXPECT_EQ(pool.most, 9U);
  EXPECT_EQ(pool.batch, 4U);
  EXPECT_EQ(pool.interval, std::chrono::seconds(30));
}

TEST(ConfigTest, PoolsGoWithTheirDriverAndSecurityGroups) {
  const std::string neutron = std::string(kNeutron) + kSubnet;
  EXPECT_THAT(WhyRefused(neutron + "[kubernetes]\nvif_pool_driver = neutron\n"),
              HasSubstr("[neutron_defaults] pod_security_groups: is not set"));
  EXPECT_THAT(WhyRefused(neutron + kGroups + "[kubernetes]\nvif_pool_driver = nested\n"),
              HasSubstr("\"nested\" does not go with pod_vif_driver"));
  EXPECT_THAT(WhyRefused(neutron + kGroups + "[kubernetes]\nvif_pool_driver = multi_pool\n"),
              HasSubstr("expected noop, neutron or nested"));
  EXPECT_THAT(WhyRefused(neutron + kGroups +
                         "[kubernetes]\nvif_pool_driver = neutron\n[vif_pool]\n"
                         "ports_pool_max = 4\n"),
              HasSubstr("[vif_pool] ports_pool_max: is less than ports_pool_min, which is 5"));
}

TEST(ConfigTest, ExampleOfNeutronsPageIsTaken) {
  const Config config = Load(Example("neutron.md"));

  EXPECT_STREQ(config.backend->name(), "neutron");
  const neutron::PodDefaults pods = PodsOf(config);
  EXPECT_THAT(pods.subnets, ElementsAre("a26eeeca-dce2-416d-a18e-748a37d60d23",
                                        "61ed89fe-1cbc-4c74-966b-afad38aeed29"));
  EXPECT_THAT(pods.security_groups, ElementsAre("9ebc225a-aa2a-44fa-9a71-0a1e1e0c9adf"));
  EXPECT_THAT(pods.tags, ElementsAre("cluster-a"));
  EXPECT_THAT(pods.hosts, ElementsAre(Pair("node1", "compute-1.example")));
  EXPECT_EQ(pods.bridge, "br-int");
}

TEST(ConfigTest, WithoutABackendPoolsAreIt) {
  EXPECT_STREQ(Load("[pool:blue]\ncidr = 10.1.0.0/24\n").backend->name(), "local");
  EXPECT_THAT(WhyRefused("[controller]\nbackend = clouds\n"),
              HasSubstr("[controller] backend: \"clouds\"; expected local or neutron or ovn"));
}

TEST(ConfigTest, NeutronNeedsThePodsSubnet) {
  EXPECT_THAT(WhyRefused(kNeutron), HasSubstr("[neutron_defaults] pod_subnet: is not set"));
  EXPECT_THAT(WhyRefused(kNeutron + std::string("pod_subnet = pods\n")),
              HasSubstr("pod_subnet: \"pods\"; expected a UUID"));
  EXPECT_EQ(WhyRefused(kNeutron + std::string(kSubnet)), "");
}

TEST(ConfigTest, AdditionalSubnetsAreListedOrAll) {
  const std::string with = kNeutron + std::string(kSubnet) + "additional_subnets = ";
  EXPECT_TRUE(PodsOf(Load(with + "*\n")).any_subnet);
  EXPECT_FALSE(PodsOf(Load(with + "\n")).any_subnet);
  EXPECT_THAT(WhyRefused(with + "*,a\n"), HasSubstr("additional_subnets: \"*\"; expected a UUID"));
}

TEST(ConfigTest, NestedPodsNeedTheirNodesSubnets) {
  const std::string base = kNeutron + std::string(kSubnet);
  const std::string vlan = base + "[kubernetes]\npod_vif_driver = nested-vlan\n";
  const std::string subnet = "e9bd17c5-0c57-43f5-b85e-3a1a1b53c62f";
  EXPECT_FALSE(PodsOf(Load(base)).is_nested());
  EXPECT_THAT(WhyRefused(vlan), HasSubstr("[pod_vif_nested] worker_nodes_subnets: is not set"));
  EXPECT_THAT(WhyRefused(base + "[kubernetes]\npod_vif_driver = sriov\n"),
              HasSubstr("\"sriov\"; expected neutron-vif, nested-vlan or nested-macvlan"));

  const auto pods = PodsOf(Load(vlan + "[pod_vif_nested]\nworker_nodes_subnets = " + subnet +
                                "\nrev_update_attempts = 5\n"));

  EXPECT_EQ(pods.driver, neutron::PodVifDriver::kNestedVlan);
  EXPECT_THAT(pods.worker_subnets, ElementsAre(subnet));
  EXPECT_EQ(pods.update_attempts, 5U);
  EXPECT_THAT(PodsOf(Load(vlan + "[pod_vif_nested]\nworker_nodes_subnet = " + subnet + "\n"))
                  .worker_subnets,
              ElementsAre(subnet))
      << "the original's former name";
}

TEST(ConfigTest, LooksForOrphansHaveAnIntervalOrNone) {
  const std::string base = kNeutron + std::string(kSubnet);
  EXPECT_EQ(PodsOf(Load(base)).orphan_interval, std::chrono::minutes(5));
  EXPECT_EQ(PodsOf(Load(base + "orphan_interval = 0\n")).orphan_interval, std::chrono::seconds(0));
  EXPECT_THAT(WhyRefused(base + "orphan_interval = never\n"),
              HasSubstr("[neutron_defaults] orphan_interval"));
}

TEST(ConfigTest, MalformedTagsAndHostsAreRefused) {
  const std::string with = kNeutron + std::string(kSubnet);
  EXPECT_THAT(WhyRefused(with + "host_mapping = node1\n"),
              HasSubstr("\"node1\"; expected NODE:HOST"));
  std::string tags = "t";
  for (int i = 0; i < 64; ++i) tags += ",t";
  EXPECT_THAT(WhyRefused(with + "resource_tags = " + tags + "\n"), HasSubstr("at most 64 tags"));
  EXPECT_THAT(WhyRefused(with + "ovs_bridge = br/int\n"),
              HasSubstr("[neutron_defaults] ovs_bridge"));
}

}  // namespace
}  // namespace kuryr::controller
