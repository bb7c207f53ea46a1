// The client's requests for nested pods, and the values that it makes of each answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/controller/backends/neutron/client/cloud_fixture.h"

namespace kuryr::controller::neutron {
namespace {

using Kind = NeutronError::Kind;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kTrunk = "3f830025-9add-43a5-b95e-2525d380e446";
constexpr const char* kNodePort = "40f2895a-55ad-437a-ab74-04698d87afc2";
constexpr const char* kSubPort = "c40957d6-20ed-44fc-922f-5a56762ebdee";

class NestedReplayTest : public CloudFixture {
 protected:
  /// "" when the client's last request is the recorded one.
  std::string DifferenceIn(const std::string& name) {
    return DifferenceOf(neutron_.Requests().back(), Load(name));
  }
  void AnswerPorts(const json& ports) { neutron_.Answer(200, json{{"ports", ports}}.dump()); }
};

TEST_F(NestedReplayTest, TrunkOfAnAddressIsFoundWithItsSubPorts) {
  neutron_.Replay("ports-list-trunk-of-address");

  const auto ports =
      ClientWithoutKeystone().ListNodePorts({.address = IpAddress::Parse("10.10.2.54")});

  EXPECT_EQ(DifferenceIn("ports-list-trunk-of-address"), "");
  ASSERT_THAT(ports, SizeIs(1));
  EXPECT_EQ(ports[0].id, kNodePort);
  EXPECT_EQ(ports[0].trunk_id, kTrunk);
  EXPECT_THAT(ports[0].sub_ports, ElementsAre(SubPort{kSubPort, 101}));
  EXPECT_THAT(observed_.All(), ElementsAre("node_port_list ok"));
}

TEST_F(NestedReplayTest, WhereAPageNamesANextItIsAskedForFromTheLastPortOn) {
  neutron_.Replay("ports-list-by-host");
  AnswerPorts(json::array());

  const auto ports = ClientWithoutKeystone().ListNodePorts({});

  ASSERT_THAT(ports, SizeIs(2));
  ASSERT_THAT(neutron_.Requests(), SizeIs(2));
  EXPECT_EQ(neutron_.Requests()[0].Query("marker"), "");
  EXPECT_EQ(neutron_.Requests()[1].Query("marker"), "0492bb8f-ccf6-4de9-9955-7cf8b90ce4ed");
}

TEST_F(NestedReplayTest, SubPortIsAddedAsRecorded) {
  neutron_.Replay("trunk-add-subports");

  ClientWithoutKeystone().AddSubPort(kTrunk, {.port_id = kSubPort, .vlan = 101});

  EXPECT_EQ(DifferenceIn("trunk-add-subports"), "");
  EXPECT_THAT(observed_.All(), ElementsAre("subport_add ok"));
}

TEST_F(NestedReplayTest, VlanInUseIsAConflictOfItsOwnType) {
  constexpr const char* kName = "trunk-add-subports-409-vlan-in-use";
  neutron_.Replay(kName);
  NeutronClient& client = ClientWithoutKeystone();

  const auto failure = FailureOf([&] {
    client.AddSubPort(kTrunk, {.port_id = "3e7c109b-85b8-48b2-844a-fab3aa723e8b", .vlan = 101});
  });

  EXPECT_EQ(DifferenceIn(kName), "");
  EXPECT_EQ(failure->kind(), Kind::kConflict);
  EXPECT_EQ(failure->type(), kSubPortExists);
  EXPECT_THAT(failure->what(), HasSubstr(std::string("with VLAN 101 to trunk ") + kTrunk));
}

TEST_F(NestedReplayTest, SubPortIsRemovedAlsoWhenItIsNone) {
  for (const char* name : {"trunk-remove-subports", "trunk-remove-subports-404"}) {
    neutron_.Replay(name);

    EXPECT_NO_THROW(ClientWithoutKeystone().RemoveSubPort(kTrunk, kSubPort)) << name;

    EXPECT_EQ(DifferenceIn(name), "") << name;
  }
}

TEST_F(NestedReplayTest, SubPortIsNeutronsOwnDevice) {
  neutron_.Replay("subport-get");

  const Port port = ClientWithoutKeystone().GetPort(kSubPort);

  EXPECT_EQ(port.device_owner, "trunk:subport");
  EXPECT_EQ(port.device_id, "");
}

TEST_F(NestedReplayTest, PairsGoWithTheRevisionThatTheyWereReadWith) {
  neutron_.Answer(200, R"({"port": {}})");
  const auto mac = MacAddress::Parse("fa:16:3e:8c:8d:6c");

  ClientWithoutKeystone().SetAddressPairs(kNodePort,
                                          {{IpNetwork::Parse("10.10.2.131").value(), mac},
                                           {IpNetwork::Parse("10.20.0.0/16").value(), {}},
                                           {IpNetwork::Parse("fd00::5").value(), mac}},
                                          42);

  const fake::HttpRequest request = neutron_.Requests().back();
  EXPECT_EQ(request.Header("if-match"), "revision_number=42");
  EXPECT_EQ(request.method + " " + request.target, std::string("PUT /v2.0/ports/") + kNodePort);
  EXPECT_EQ(json::parse(request.body), json::parse(R"({"port": {"allowed_address_pairs": [
      {"ip_address": "10.10.2.131", "mac_address": "fa:16:3e:8c:8d:6c"},
      {"ip_address": "10.20.0.0/16"},
      {"ip_address": "fd00::5", "mac_address": "fa:16:3e:8c:8d:6c"}]}})"));
}

TEST_F(NestedReplayTest, OlderRevisionIsAPreconditionThatFails) {
  neutron_.Answer(412, R"({"NeutronError": {"type": "RevisionNumberConstraintFailed",
                           "message": "Constrained to 42, but current revision is 43"}})");
  NeutronClient& client = ClientWithoutKeystone();

  const auto failure = FailureOf([&] { client.SetAddressPairs(kNodePort, {}, 42); });

  EXPECT_EQ(failure->kind(), Kind::kPrecondition);
  EXPECT_THAT(observed_.All(), ElementsAre("address_pairs precondition"));
}

TEST_F(NestedReplayTest, PairsAreReadWithTheirRevision) {
  AnswerPorts(
      json::array({{{"id", kNodePort},
                    {"trunk_details", nullptr},
                    {"revision_number", 9},
                    {"allowed_address_pairs",
                     {{{"ip_address", "10.20.0.0/16"}, {"mac_address", nullptr}},
                      {{"ip_address", "fd00::5"}, {"mac_address", "fa:16:3e:8c:8d:6c"}}}}}}));

  const auto ports = ClientWithoutKeystone().ListNodePorts({.id = kNodePort});

  ASSERT_THAT(ports, SizeIs(1));
  EXPECT_EQ(ports[0].revision, 9);
  EXPECT_EQ(ports[0].trunk_id, "");
  EXPECT_THAT(ports[0].address_pairs,
              ElementsAre(AddressPair{IpNetwork::Parse("10.20.0.0/16").value(), std::nullopt},
                          AddressPair{IpNetwork::Parse("fd00::5/128").value(),
                                      MacAddress::Parse("fa:16:3e:8c:8d:6c")}));
}

TEST_F(NestedReplayTest, MalformedNodePortsAreRefused) {
  for (const char* port :
       {R"({"id": "x"})", R"({"trunk_details": 1})", R"({"allowed_address_pairs": [{}]})",
        R"({"fixed_ips": [1]})", R"({"revision_number": -1})",
        R"({"trunk_details": {"sub_ports": [{"port_id": 1}]}})"}) {
    json malformed = {{"id", kNodePort}};
    malformed.update(json::parse(port));
    AnswerPorts(json::array({malformed}));
    NeutronClient& client = ClientWithoutKeystone();
    const auto failure = FailureOf([&] { (void)client.ListNodePorts({}); });
    ASSERT_TRUE(failure) << port;
    EXPECT_THAT(failure->what(), HasSubstr("$.ports[0]")) << port;
  }
}

TEST_F(NestedReplayTest, MalformedIdsAreNotAskedFor) {
  NeutronClient& client = ClientWithoutKeystone();

  EXPECT_EQ(FailureOf([&] { client.AddSubPort("../ports", {}); }).value().kind(), Kind::kNotFound);
  EXPECT_EQ(FailureOf([&] { client.SetAddressPairs("x?y", {}, 1); }).value().kind(),
            Kind::kNotFound);
  EXPECT_NO_THROW(client.RemoveSubPort("", kSubPort));
  EXPECT_THAT(neutron_.Requests(), IsEmpty());
}

}  // namespace
}  // namespace kuryr::controller::neutron
