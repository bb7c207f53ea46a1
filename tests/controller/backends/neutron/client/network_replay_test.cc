// The client's requests for networks, subnets and router interfaces, and the answers of real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/controller/backends/neutron/client/cloud_fixture.h"

namespace kuryr::controller::neutron {
namespace {

using Kind = NeutronError::Kind;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kProject = "5d2a3c0e8f7b4c1b9e0a6d3f2c1b0a99";
constexpr const char* kPool = "3f2a6dd0-9a4f-4c35-8d0e-5a8f6f4f2c11";
constexpr const char* kRouter = "ca04b385-c154-47f2-97fa-71c3bac760e7";
constexpr const char* kSubnet = "1fe82d50-e019-43a9-8a69-7361c038024a";

class NetworkReplayTest : public CloudFixture {
 protected:
  [[nodiscard]] fake::HttpRequest Last() { return neutron_.Requests().back(); }
  [[nodiscard]] json LastBody() { return json::parse(Last().body); }
};

TEST_F(NetworkReplayTest, NetworkIsMadeWithADescriptionOfItsOwn) {
  for (const char* name : {"network-create", "ml2-ovs/network-create"}) {
    neutron_.Replay(name);

    const Network made = ClientWithoutKeystone().CreateNetwork(
        {.project_id = kProject, .name = "pods", .description = "a namespace's"});

    EXPECT_EQ(Last().method, "POST");
    EXPECT_EQ(Last().target, Load(name).target);
    EXPECT_EQ(LastBody(), json::parse(R"({"network": {"name": "pods",
        "project_id": "5d2a3c0e8f7b4c1b9e0a6d3f2c1b0a99", "description": "a namespace's"}})"));
    EXPECT_EQ(made.name, "pods") << name;
    EXPECT_THAT(made.id, SizeIs(36)) << name;
    EXPECT_THAT(made.subnet_ids, IsEmpty()) << name;
  }
}

TEST_F(NetworkReplayTest, SubnetIsMadeOfAPoolWithoutDhcp) {
  for (const auto& [name, family] : {std::pair("subnet-create-ipv4", IpFamily::kIpv4),
                                     std::pair("subnet-create-ipv6", IpFamily::kIpv6),
                                     std::pair("ml2-ovs/subnet-create-ipv4", IpFamily::kIpv4),
                                     std::pair("ml2-ovs/subnet-create-ipv6", IpFamily::kIpv6)}) {
    neutron_.Replay(name);

    const Subnet made =
        ClientWithoutKeystone().CreateSubnet({.name = "ns/team-subnet",
                                              .network_id = kNetworkId,
                                              .pool = {.id = kPool, .family = family}});

    EXPECT_EQ(Last().target, Load(name).target);
    EXPECT_EQ(LastBody(), json({{"subnet",
                                 {{"network_id", kNetworkId},
                                  {"name", "ns/team-subnet"},
                                  {"subnetpool_id", kPool},
                                  {"ip_version", family == IpFamily::kIpv4 ? 4 : 6},
                                  {"enable_dhcp", false}}}}));
    EXPECT_EQ(made.cidr.address.family, family) << name;
    EXPECT_EQ(made.pool_id, "") << "the recorded one is of none";
  }
}

TEST_F(NetworkReplayTest, RouterGetsAnInterface) {
  const Recorded recorded = Load("router-add-interface");
  neutron_.Replay(recorded);

  ClientWithoutKeystone().AddRouterInterface(kRouter, kSubnet);

  EXPECT_EQ(DifferenceOf(Last(), recorded), "");
  EXPECT_THAT(observed_.All(), ElementsAre("router_interface ok"));
}

TEST_F(NetworkReplayTest, RouterLosesAnInterfaceAlsoWhenItHasNone) {
  neutron_.Answer(200, "{}");
  neutron_.Answer(404, R"({"NeutronError": {"type": "RouterInterfaceNotFoundForSubnet",
                           "message": "Router has no interface", "detail": ""}})");

  for (int i = 0; i < 2; ++i) ClientWithoutKeystone().RemoveRouterInterface(kRouter, kSubnet);

  EXPECT_EQ(Last().target, std::string("/v2.0/routers/") + kRouter + "/remove_router_interface");
  EXPECT_EQ(LastBody(), json({{"subnet_id", kSubnet}}));
}

TEST_F(NetworkReplayTest, NetworkInUseIsAConflictAndOneThatIsGoneIsDeleted) {
  const Recorded recorded = Load("network-delete-409-in-use");
  neutron_.Replay(recorded);
  neutron_.Answer(
      404,
      R"({"NeutronError": {"type": "NetworkNotFound", "message": "no network", "detail": ""}})");
  NeutronClient& client = ClientWithoutKeystone();

  const auto failure = FailureOf([&] { client.DeleteNetwork(kNetworkId); });

  EXPECT_EQ(DifferenceOf(Last(), recorded), "");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind(), Kind::kConflict);
  EXPECT_EQ(failure->type(), "NetworkInUse");
  EXPECT_LT(std::string(failure->what()).size(), 600U) << "it lists all ports";
  EXPECT_FALSE(FailureOf([&] { client.DeleteNetwork(kNetworkId); }));
}

TEST_F(NetworkReplayTest, NetworksAreListedPageByPage) {
  const auto page = [](const std::string& id, const char* links) {
    return R"({"networks": [{"id": ")" + id + R"(", "name": "ns/team-net", "description": "whose",
        "tags": ["cluster-a"], "subnets": [")" +
           std::string(kSubnet) + R"("]}])" + links + "}";
  };
  neutron_.Answer(200, page(kNetworkId, R"(, "networks_links": [{"rel": "next", "href": "x"}])"));
  neutron_.Answer(200, page(kPool, ""));

  const auto networks =
      ClientWithoutKeystone().ListNetworks({.name = "ns/team-net", .project_id = kProject});

  ASSERT_THAT(networks, SizeIs(2));
  EXPECT_THAT(networks[0], AllOf(Field(&Network::description, "whose"),
                                 Field(&Network::tags, ElementsAre("cluster-a")),
                                 Field(&Network::subnet_ids, ElementsAre(kSubnet))));
  EXPECT_EQ(Last().Query("name"), "ns/team-net");
  EXPECT_EQ(Last().Query("project_id"), kProject);
  EXPECT_EQ(Last().Query("marker"), kNetworkId);
}

TEST_F(NetworkReplayTest, TagsAndDescriptionsArePut) {
  for (int i = 0; i < 2; ++i) neutron_.Answer(200, R"({"tags": ["a"]})");
  neutron_.Answer(200, R"({"network": {}})");
  NeutronClient& client = ClientWithoutKeystone();

  client.SetNetworkTags(kNetworkId, {"a"});
  EXPECT_EQ(Last().target, std::string("/v2.0/networks/") + kNetworkId + "/tags");
  client.SetSubnetTags(kSubnet, {"a"});
  EXPECT_EQ(Last().target, std::string("/v2.0/subnets/") + kSubnet + "/tags");
  EXPECT_EQ(LastBody(), json::parse(R"({"tags": ["a"]})"));
  client.DescribeNetwork(kNetworkId, "whose");
  EXPECT_EQ(Last().target, std::string("/v2.0/networks/") + kNetworkId);
  EXPECT_EQ(LastBody(), json::parse(R"({"network": {"description": "whose"}})"));
}

TEST_F(NetworkReplayTest, PoolHasItsFamily) {
  const auto answer = [](int version) {
    return R"({"subnetpool": {"id": ")" + std::string(kPool) + R"(", "ip_version": )" +
           std::to_string(version) + "}}";
  };
  neutron_.Answer(200, answer(6));
  neutron_.Answer(200, answer(4));
  neutron_.Answer(200, answer(5 + 2));
  NeutronClient& client = ClientWithoutKeystone();

  EXPECT_EQ(client.GetSubnetPool(kPool), (SubnetPool{kPool, IpFamily::kIpv6}));
  EXPECT_EQ(client.GetSubnetPool(kPool), (SubnetPool{kPool, IpFamily::kIpv4}));
  EXPECT_THAT(FailureOf([&] { (void)client.GetSubnetPool(kPool); })->what(),
              HasSubstr("$.subnetpool.ip_version"));
}

TEST_F(NetworkReplayTest, MemberReadsANetworkWhoseProviderIsHidden) {
  neutron_.Replay("neutron-token-valid");

  const Network network =
      ClientWithoutKeystone().GetNetwork("4e2b0ec7-64a7-4035-9304-be90dc1cd12d");

  EXPECT_EQ(network.mtu, 1500U);
  EXPECT_FALSE(network.vlan);
}

TEST_F(NetworkReplayTest, TagsGoWithABulkCreationWhereTheyCount) {
  neutron_.Replay("ml2-ovs/extensions-with-tag-ports-during-bulk-creation");
  neutron_.Replay("ml2-ovs/ports-create-bulk-tags-with-extension");
  const PortRequest request{
      .network_id = "38c9d3ef-8862-4188-82ea-bf84011ca1ef", .device_id = "u", .tags = {"a"}};

  const auto ports = ClientWithoutKeystone().CreatePorts({request, request});

  EXPECT_EQ(LastBody().at("ports")[1].at("tags"), json::array({"a"}));
  for (const Port& port : ports) EXPECT_THAT(port.tags, ElementsAre("a"));
}

TEST_F(NetworkReplayTest, PortIsFoundByItsAddress) {
  const Recorded recorded = Load("ports-list-by-address");
  neutron_.Replay(recorded);

  const auto ports =
      ClientWithoutKeystone().ListNodePorts({.address = IpAddress::Parse("10.10.77.7")});

  EXPECT_EQ(DifferenceOf(Last(), recorded), "");
  ASSERT_THAT(ports, SizeIs(1));
  EXPECT_EQ(ports[0].fixed_ips.at(0).address, IpAddress::Parse("10.10.77.7"));
}

TEST_F(NetworkReplayTest, MalformedIdsAreNotAskedFor) {
  NeutronClient& client = ClientWithoutKeystone();
  const std::string bad = "../ports";

  client.DeleteNetwork(bad);
  client.RemoveRouterInterface(bad, kSubnet);
  for (const auto& act : std::vector<std::function<void()>>{
           [&] { client.AddRouterInterface(bad, kSubnet); },
           [&] { (void)client.GetSubnetPool(bad); }, [&] { client.SetNetworkTags(bad, {}); },
           [&] { client.DescribeNetwork(bad, ""); }})
    EXPECT_EQ(FailureOf(act).value().kind(), Kind::kNotFound);

  EXPECT_THAT(neutron_.Requests(), IsEmpty());
}

}  // namespace
}  // namespace kuryr::controller::neutron
