// The client's requests, and the values that it makes of each answer of a real Neutron.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
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

/// The request from which the client would make this body.
PortRequest RequestOf(const json& port) {
  PortRequest request{.project_id = port.value("project_id", ""),
                      .name = port.value("name", ""),
                      .network_id = port.at("network_id"),
                      .device_id = port.value("device_id", ""),
                      .device_owner = port.value("device_owner", ""),
                      .host_id = port.value("binding:host_id", ""),
                      .tags = port.value("tags", std::vector<std::string>()),
                      .admin_state_up = port.at("admin_state_up")};
  for (const json& ip : port.at("fixed_ips")) {
    const std::string address = ip.value("ip_address", "");
    request.fixed_ips.push_back({ip.at("subnet_id"), IpAddress::Parse(address)});
  }
  if (port.contains("mac_address"))
    request.mac = MacAddress::Parse(port.at("mac_address").get<std::string>());
  if (port.contains("security_groups")) request.security_groups = port.at("security_groups");
  return request;
}

std::string IdIn(const std::string& target) {
  const size_t slash = target.find('/', std::string("/v2.0/").size());
  return target.substr(slash + 1, 36);
}

class ReplayTest : public CloudFixture {
 protected:
  /// The client's result for the recorded answer. Expects that its request was the recorded one.
  template <typename Act>
  auto Replayed(const std::string& name, Act act) {
    const Recorded recorded = Load(name);
    neutron_.Replay(recorded);
    NeutronClient& client = ClientWithoutKeystone();
    auto made = act(client, recorded);
    EXPECT_EQ(DifferenceOf(neutron_.Requests().back(), recorded), "") << name;
    return made;
  }
  Port Created(const std::string& name) {
    return Replayed(name, [](NeutronClient& client, const Recorded& recorded) {
      return client.CreatePort(RequestOf(json::parse(recorded.body).at("port")));
    });
  }
  Port Got(const std::string& name) {
    return Replayed(name, [](NeutronClient& client, const Recorded& recorded) {
      return client.GetPort(IdIn(recorded.target));
    });
  }
  Port Updated(const std::string& name, const PortUpdate& update) {
    return Replayed(name, [&](NeutronClient& client, const Recorded& recorded) {
      return client.UpdatePort(IdIn(recorded.target), update);
    });
  }
  Subnet GotSubnet(const std::string& name) {
    return Replayed(name, [](NeutronClient& client, const Recorded& recorded) {
      return client.GetSubnet(IdIn(recorded.target));
    });
  }
  /// The error of a creation that fails.
  NeutronError CreationFailure(const std::string& name) {
    const Recorded recorded = Load(name);
    neutron_.Replay(recorded);
    NeutronClient& client = ClientWithoutKeystone();
    PortRequest request{.network_id = kNetworkId, .device_id = "pod-uid"};
    const json body = json::parse(recorded.body, nullptr, false);
    const bool was_ours = body.is_object() && !body.at("port").contains("nonsense");
    if (was_ours) request = RequestOf(body.at("port"));
    const auto failure = FailureOf([&] { client.CreatePort(request); });
    if (was_ours && body.at("port").contains("admin_state_up")) {
      EXPECT_EQ(DifferenceOf(neutron_.Requests().back(), recorded), "") << name;
    }
    return failure.value();
  }
};

TEST_F(ReplayTest, APortOfAPodIsMadeForItsHostWithAddressesOfBothFamilies) {
  const Port port = Created("port-create");

  EXPECT_EQ(port.id, "eebf73e7-b33d-4b80-b0b9-118adb04be3d");
  EXPECT_EQ(port.mac, MacAddress::Parse("fa:16:3e:5e:7a:89"));
  EXPECT_EQ(port.host_id, "held-node");
  EXPECT_EQ(port.vif_type, "ovs");
  EXPECT_TRUE(port.vif_details.port_filter);
  EXPECT_FALSE(port.active);
  ASSERT_THAT(port.fixed_ips, SizeIs(2));
  EXPECT_EQ(port.fixed_ips[1].address, IpAddress::Parse("fd00:10::34c"));
}

TEST_F(ReplayTest, PortsOfOtherKindsAreMadeAsRecorded) {
  EXPECT_EQ(Created("port-create-binding-failed").vif_type, "binding_failed");
  EXPECT_THAT(Created("port-create-default-group").security_groups, SizeIs(1));
  EXPECT_THAT(Created("port-create-no-gateway").fixed_ips, SizeIs(1));
  EXPECT_EQ(Created("port-create-slaac").fixed_ips.at(0).address,
            IpAddress::Parse("fd00:12::f816:3eff:fe94:71a3"));
  EXPECT_EQ(Created("port-create-of-a-pod").vnic_type, "normal");
  EXPECT_EQ(Created("ml2-ovs/port-create-binding-failed").vif_type, "binding_failed");
}

TEST_F(ReplayTest, APortWithoutAHostIsUnbound) {
  neutron_.Replay("port-create-unbound");

  EXPECT_EQ(ClientWithoutKeystone().CreatePort({.network_id = kNetworkId}).vif_type, "unbound");

  EXPECT_FALSE(json::parse(neutron_.Requests().back().body).at("port").contains("binding:host_id"));
}

TEST_F(ReplayTest, WithMl2OvsAPortNamesItsBridgeAndDatapath) {
  const VifDetails details = Created("ml2-ovs/port-create-of-a-pod").vif_details;

  EXPECT_EQ(details.bridge_name, "br-int");
  EXPECT_EQ(details.datapath_type, "netdev");
  EXPECT_FALSE(details.ovs_hybrid_plug);
}

TEST_F(ReplayTest, PortsInBulkAreMadeByOneRequestInTheirOrder) {
  const auto ports =
      Replayed("ports-create-bulk", [](NeutronClient& client, const Recorded& recorded) {
        std::vector<PortRequest> requests;
        const json body = json::parse(recorded.body);
        for (const json& port : body.at("ports")) requests.push_back(RequestOf(port));
        return client.CreatePorts(requests);
      });

  EXPECT_THAT(ports, ElementsAre(Field(&Port::device_id, "60bb0874-720e-4f2f-8da7-9197eeae5afb"),
                                 Field(&Port::device_id, "8c9ca715-a80b-4f3a-b1b4-a82e34a4976f")));
}

TEST_F(ReplayTest, APortIsActiveOnceNeutronSaysSo) {
  EXPECT_TRUE(Got("port-get-active").active);
  EXPECT_FALSE(Got("port-get-down-again").active);
  EXPECT_FALSE(Got("port-get").active);
  EXPECT_TRUE(Got("ml2-ovs/port-get-active").active);
  EXPECT_FALSE(Got("ml2-ovs/port-get-down-again").active);
}

TEST_F(ReplayTest, AnUpdateSendsWhatItNamesAlone) {
  EXPECT_EQ(Updated("port-update-bind-host",
                    {.device_id = "17a731bb-67f3-4fed-a125-4623909166a8", .host_id = "held-node"})
                .host_id,
            "held-node");
  EXPECT_EQ(Updated("port-update-name", {.name = "default/nginx"}).name, "default/nginx");
  EXPECT_THAT(Updated("port-update-security-groups",
                      {.security_groups = {{"9ebc225a-aa2a-44fa-9a71-0a1e1e0c9adf"}}})
                  .security_groups,
              SizeIs(1));
  EXPECT_THAT(Updated("ml2-ovs/port-update-security-groups",
                      {.security_groups = {{"97f310a5-5e28-4ab7-bbc4-7095b8bb2a80"}}})
                  .security_groups,
              SizeIs(1));
}

TEST_F(ReplayTest, AnUpdateOfARevisionIsOneOfThatRevisionAlone) {
  EXPECT_EQ(Updated("port-update-name", {.name = "default/nginx", .revision = 4}).revision, 5);
  EXPECT_EQ(neutron_.Requests().back().Header("if-match"), "revision_number=4");

  EXPECT_EQ(Updated("port-update-name", {.name = "default/nginx"}).revision, 5);
  EXPECT_EQ(neutron_.Requests().back().Header("if-match"), "") << "of any";
}

TEST_F(ReplayTest, PortsAreFoundByTheirName) {
  neutron_.Answer(200, R"({"ports": []})");

  EXPECT_THAT(ClientWithoutKeystone().ListPorts({.name = "a b"}), IsEmpty());

  EXPECT_EQ(neutron_.Requests().back().Query("name"), "a b");
}

TEST_F(ReplayTest, APortIsBoundAgainByTheSameHost) {
  const Port port = Replayed("port-update-rebind-same-host-1",
                             [](NeutronClient& client, const Recorded& recorded) {
                               return client.BindPort(IdIn(recorded.target), "held-node");
                             });

  EXPECT_EQ(port.vif_type, "binding_failed");
}

TEST_F(ReplayTest, TagsAreReplacedByOneRequest) {
  Replayed("port-tags-put", [](NeutronClient& client, const Recorded& recorded) {
    client.SetTags(IdIn(recorded.target), {"kuryr", "cluster=c1"});
    return 0;
  });
}

TEST_F(ReplayTest, APortIsDeletedAndOneThatIsGoneToo) {
  Replayed("port-delete", [](NeutronClient& client, const Recorded& recorded) {
    client.DeletePort(IdIn(recorded.target));
    return 0;
  });

  neutron_.Replay("port-get-404");
  EXPECT_NO_THROW(ClientWithoutKeystone().DeletePort(kPortId));
  EXPECT_EQ(neutron_.Requests().back().method, "DELETE");
}

TEST_F(ReplayTest, PortsAreFoundByTheirDeviceAndByTheirTags) {
  const auto ports =
      Replayed("ports-list-by-device-id", [](NeutronClient& client, const Recorded&) {
        return client.ListPorts({.device_id = "f5c13e7d-3222-41aa-a2de-803697276fb7"});
      });
  ASSERT_THAT(ports, SizeIs(1));
  EXPECT_THAT(ports[0].tags, ElementsAre("cluster=c1", "kuryr", "node=held-node"));

  neutron_.Answer(200, R"({"ports": []})");
  EXPECT_THAT(ClientWithoutKeystone().ListPorts({.tags = {"kuryr", "cluster=c1"}}), IsEmpty());
  EXPECT_EQ(neutron_.Requests().back().Query("tags"), "kuryr,cluster=c1");
}

TEST_F(ReplayTest, ThePollAsksForActivePortsAndTheirIdsAlone) {
  neutron_.Replay("ports-list-by-ids-fields");
  const std::string first = "46e1c13c-11a3-4402-bb66-6db7c9a4741b";
  const std::string second = "4f155431-bc1d-448d-96f8-ebe74347186b";

  EXPECT_THAT(ClientWithoutKeystone().ActivePorts({first, second}), ElementsAre(first, second));

  EXPECT_EQ(neutron_.Requests().back().target,
            "/v2.0/ports?status=ACTIVE&fields=id&id=" + first + "&id=" + second);
}

TEST_F(ReplayTest, WhetherPortsAreThereIsAskedWhateverTheirStatus) {
  neutron_.Replay("ports-list-by-ids-fields");
  const std::string first = "46e1c13c-11a3-4402-bb66-6db7c9a4741b";
  const std::string second = "4f155431-bc1d-448d-96f8-ebe74347186b";

  EXPECT_THAT(ClientWithoutKeystone().ExistingPorts({first, kPortId, second}),
              ElementsAre(first, second));

  EXPECT_EQ(neutron_.Requests().back().target,
            "/v2.0/ports?fields=id&id=" + first + "&id=" + kPortId + "&id=" + second);
  EXPECT_THAT(observed_.All(), ElementsAre("port_look ok"));
}

TEST_F(ReplayTest, NoPortIsActiveWhereTheListIsEmpty) {
  neutron_.Replay("ports-list-by-owner-status");

  EXPECT_THAT(ClientWithoutKeystone().ActivePorts({kPortId}), IsEmpty());
}

TEST_F(ReplayTest, ANetworkHasItsMtuAndAVlanOnlyWhereItIsOne) {
  const auto got = [this](const char* name) {
    return Replayed(name, [](NeutronClient& client, const Recorded& recorded) {
      return client.GetNetwork(IdIn(recorded.target));
    });
  };

  EXPECT_EQ(got("network-get"), (Network{.id = "66b5ab1d-8be8-4059-9a41-79cd1135b9f8",
                                         .name = "pods",
                                         .mtu = 1442,
                                         .vlan = std::nullopt,
                                         .subnet_ids = {"61ed89fe-1cbc-4c74-966b-afad38aeed29",
                                                        "a26eeeca-dce2-416d-a18e-748a37d60d23"}}));
  EXPECT_EQ(got("ml2-ovs/network-get").vlan, 124);
}

TEST_F(ReplayTest, SubnetsHaveTheirGatewayAlsoWhereItIsTheNetworksOwnAddress) {
  const auto subnets = Replayed(
      "subnets-list-of-network",
      [](NeutronClient& client, const Recorded&) { return client.ListSubnets(kNetworkId); });

  ASSERT_THAT(subnets, SizeIs(3));
  EXPECT_EQ(subnets[0].gateway, IpAddress::Parse("10.10.0.1"));
  EXPECT_EQ(subnets[1].cidr, IpNetwork::Parse("fd00:10::/64"));
  EXPECT_EQ(subnets[1].gateway, IpAddress::Parse("fd00:10::"));
  EXPECT_EQ(subnets[2].gateway, std::nullopt);
  EXPECT_EQ(subnets[2].allocation_pools.at(0).last, IpAddress::Parse("10.11.0.254"));
}

TEST_F(ReplayTest, ASubnetHasItsServersAndRoutes) {
  const Subnet subnet = GotSubnet("subnet-get");
  EXPECT_THAT(subnet.dns, ElementsAre(IpAddress::Parse("10.96.0.10")));
  EXPECT_THAT(subnet.host_routes, ElementsAre(HostRoute{IpNetwork::Parse("10.99.0.0/16").value(),
                                                        IpAddress::Parse("10.10.0.1").value()}));
  EXPECT_FALSE(subnet.is_slaac);

  EXPECT_EQ(GotSubnet("subnet-get-no-gateway").gateway, std::nullopt);
  EXPECT_EQ(GotSubnet("ml2-ovs/subnet-get").name, "pods4");
}

TEST_F(ReplayTest, WhetherTagsCountAtCreationIsAskedOnce) {
  for (const auto& [name, expected] :
       {std::pair("extensions", false),
        std::pair("ml2-ovs/extensions-with-tag-ports-during-bulk-creation", true)}) {
    const size_t before = neutron_.Requests().size();
    EXPECT_EQ(Replayed(name,
                       [](NeutronClient& client, const Recorded&) {
                         return client.TagsAtCreation() && client.TagsAtCreation();
                       }),
              expected);
    EXPECT_EQ(neutron_.Requests().size(), before + 1);
  }
}

TEST_F(ReplayTest, EveryRefusalOfACreationHasItsKindAndNamesTypeAndObject) {
  const std::map<std::string, std::pair<Kind, std::string>> refusals = {
      {"port-create-400-not-json", {Kind::kBadRequest, "HTTPBadRequest"}},
      {"port-create-400-subnet-of-another-network", {Kind::kBadRequest, "InvalidInput"}},
      {"port-create-400-unknown-field", {Kind::kBadRequest, "HTTPBadRequest"}},
      {"port-create-404-network", {Kind::kNotFound, "NetworkNotFound"}},
      {"port-create-404-security-group", {Kind::kNotFound, "SecurityGroupNotFound"}},
      {"port-create-404-subnet", {Kind::kNotFound, "SubnetNotFound"}},
      {"port-create-409-address-in-use", {Kind::kConflict, "IpAddressAlreadyAllocated"}},
      {"port-create-409-mac-in-use", {Kind::kConflict, "MacAddressInUse"}},
      {"port-create-409-no-more-addresses", {Kind::kExhausted, "IpAddressGenerationFailure"}},
      {"port-create-409-over-quota", {Kind::kQuota, "OverQuota"}},
      {"port-create-415-or-400-no-content-type", {Kind::kBadRequest, "HTTPBadRequest"}},
      {"neutron-403-port-create-binding-host-as-member",
       {Kind::kForbidden, "PolicyNotAuthorized"}}};
  for (const auto& [name, expected] : refusals) {
    const NeutronError failure = CreationFailure(name);
    EXPECT_EQ(failure.kind(), expected.first) << name;
    EXPECT_EQ(failure.type(), expected.second) << name;
    EXPECT_EQ(failure.status(), Load(name).status) << name;
    EXPECT_FALSE(failure.uncertain()) << name;
    EXPECT_THAT(failure.what(), AllOf(HasSubstr(expected.second), HasSubstr("create a port of "),
                                      HasSubstr("in network ")))
        << name;
  }
}

TEST_F(ReplayTest, QuotaOfAProjectIsReadWithWhatIsUsed) {
  const auto quota = Replayed("quota-details", [](NeutronClient& client, const Recorded&) {
    return client.GetPortQuota("5d2a3c0e8f7b4c1b9e0a6d3f2c1b0a99");
  });

  EXPECT_EQ(quota, (PortQuota{.limit = 500, .used = 82, .reserved = 0}));
}

TEST_F(ReplayTest, QuotaWithoutAProjectIsThatOfTheToken) {
  NeutronClient& client = Client();
  neutron_.Replay("quota-details");

  EXPECT_EQ(client.GetPortQuota("")->limit, 500);

  EXPECT_EQ(neutron_.Requests().back().target,
            std::string("/v2.0/quotas/") + kProjectId + "/details");
}

TEST_F(ReplayTest, QuotaOfNobodysProjectIsNotAskedFor) {
  EXPECT_FALSE(ClientWithoutKeystone().GetPortQuota(""));

  EXPECT_THAT(neutron_.Requests(), IsEmpty());
}

TEST_F(ReplayTest, OneAddressInUseRefusesAllOfABulk) {
  neutron_.Replay("ports-create-bulk-409-one-address-in-use");
  NeutronClient& client = ClientWithoutKeystone();

  const auto failure = FailureOf(
      [&] { client.CreatePorts({{.network_id = kNetworkId}, {.network_id = kNetworkId}}); });

  EXPECT_EQ(failure->kind(), Kind::kConflict);
  EXPECT_THAT(failure->what(), HasSubstr("and 1 more"));
}

TEST_F(ReplayTest, OtherRefusalsHaveTheirKind) {
  const std::map<std::string, Kind> refusals = {{"port-get-404", Kind::kNotFound},
                                                {"port-update-404", Kind::kNotFound},
                                                {"subnet-get-404", Kind::kNotFound},
                                                {"port-get-malformed-id", Kind::kNotFound},
                                                {"neutron-404-of-another-project", Kind::kNotFound},
                                                {"ports-list-unknown-filter", Kind::kBadRequest},
                                                {"neutron-401-no-token", Kind::kUnauthorized},
                                                {"auth-401-no-token", Kind::kUnauthorized},
                                                {"neutron-503-keystone-away", Kind::kUnavailable},
                                                {"auth-503-keystone-down", Kind::kUnavailable}};
  for (const auto& [name, expected] : refusals) {
    neutron_.Replay(name);
    NeutronClient& client = ClientWithoutKeystone();
    const auto failure = FailureOf([&] { (void)client.GetPort(kPortId); });
    ASSERT_TRUE(failure) << name;
    EXPECT_EQ(failure->kind(), expected) << name;
    EXPECT_THAT(failure->what(), HasSubstr(kPortId)) << name;
  }
}

TEST_F(ReplayTest, AMalformedIdIsNotAskedFor) {
  NeutronClient& client = ClientWithoutKeystone();

  EXPECT_EQ(FailureOf([&] { (void)client.GetPort("../networks"); }).value().kind(),
            Kind::kNotFound);
  EXPECT_EQ(FailureOf([&] { (void)client.GetSubnet(""); }).value().kind(), Kind::kNotFound);
  EXPECT_NO_THROW(client.DeletePort("x?y"));
  EXPECT_THAT(neutron_.Requests(), IsEmpty());
}

}  // namespace
}  // namespace kuryr::controller::neutron
