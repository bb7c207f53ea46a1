#include "controller/plan/kept_plan.h"
#include "tests/controller/backends/ovn/ovn_backend_fixture.h"

namespace kuryr::controller::ovn {
namespace {

using pools::AddressesOf;
using pools::Pod;
using pools::RequestOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(OvnBackendTest, NodeGetsASwitchAtTheRouterAndAPort) {
  const auto backend = Make();

  const Vifs node = Reserve(*backend, NodeRequest("n1"));

  ASSERT_THAT(node, SizeIs(1));
  const vif::VifBase& vif = vif::Common(node[0].vif);
  const vif::Subnet& ipv4 = *vif.network->subnets->begin();
  EXPECT_EQ(ipv4.cidr->ToString(), "10.4.0.0/24");
  EXPECT_EQ(ipv4.gateway->ToString(), "10.4.0.1") << "the router's";
  EXPECT_THAT(AddressesOf(node[0]), Not(Contains("10.4.0.1")));
  EXPECT_EQ(vif::MtuOf(vif), 1400);
  EXPECT_THAT(Column("Logical_Router_Port", "networks"), ElementsAre("10.4.0.1/24 fd00:4::1/64"));
  EXPECT_THAT(Nbctl({"lsp-list", "kuryr/node/n1"}), HasSubstr(IdOf(node[0])));
  EXPECT_THAT(Column("Logical_Router_Static_Route", "ip_prefix,nexthop,policy"),
              ElementsAre("10.4.0.0/24", AddressesOf(node[0])[0], "fd00:4::/64",
                          AddressesOf(node[0])[1], "src-ip", "src-ip"));
  EXPECT_THAT(Column("Logical_Switch_Port", "port_security", "name=" + IdOf(node[0])),
              ElementsAre(pools::MacOf(node[0])))
      << "it sends what it routes, from any address";
}

TEST_F(OvnBackendTest, PodGetsAPortThatSendsAsItselfAlone) {
  const auto backend = Make();
  const Vifs node = Reserve(*backend, NodeRequest("n1"));

  const Vifs pod = Reserve(*backend, PodRequest("a", node));

  ASSERT_THAT(pod, SizeIs(1));
  EXPECT_TRUE(backend->Await(Pod("a"), pod));
  const std::string port = "name=" + IdOf(pod[0]);
  const std::string text =
      pools::MacOf(pod[0]) + " " + AddressesOf(pod[0])[0] + " " + AddressesOf(pod[0])[1];
  EXPECT_THAT(Column("Logical_Switch_Port", "addresses", port), ElementsAre(text));
  EXPECT_THAT(Column("Logical_Switch_Port", "port_security", port), ElementsAre(text));
  EXPECT_THAT(Column("Logical_Switch_Port", "options", port), ElementsAre("requested-chassis=n1"));
  EXPECT_THAT(Nbctl({"lsp-list", "kuryr/node/n1"}), HasSubstr(IdOf(pod[0])));
}

TEST_F(OvnBackendTest, NoPodGetsARoutersMac) {
  const auto backend = Make();
  const Vifs node = Reserve(*backend, NodeRequest("n1"));
  PlanRequest wish = PodRequest("a", node);
  // Of this node, and of one that is yet to come.
  for (const char* gateway : {"10.4.0.1", "10.4.77.1"}) {
    wish.interfaces[0].mac = MacOfGateway(pools::Ip(gateway));
    EXPECT_EQ(pools::FailureOf([&] { (void)backend->Reserve(wish); }).kind,
              PlanError::Kind::kRefused);
  }
}

TEST_F(OvnBackendTest, PodWithARoutersMacIsRefused) {
  const auto backend = Make();
  const Vifs node = Reserve(*backend, NodeRequest("n1"));
  Vifs pod = Reserve(*backend, PodRequest("a", node));
  vif::Common(pod[0].vif).address = MacOfGateway(pools::Ip("10.4.0.1"));

  const auto why = backend->facets().addresses->WhyNeverGiven(Pod("a"), pod[0]);

  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr("or for a router"));
}

TEST_F(OvnBackendTest, NodeReachesItsPodsThroughItsPortAlone) {
  const auto backend = Make();

  const Vifs node = Reserve(*backend, NodeRequest("n1"));

  EXPECT_THAT(Column("ACL", "match", "direction=to-lport"),
              ElementsAre("inport == \"" + IdOf(node[0]) + "\" && eth.src == " +
                          pools::MacOf(node[0]) + " && (ip4.src == " + AddressesOf(node[0])[0] +
                          " || ip6.src == " + AddressesOf(node[0])[1] + ")"));
}

TEST_F(OvnBackendTest, SwitchesDropWhatOnlyRoutersAndServersSend) {
  const auto backend = Make();

  (void)Reserve(*backend, NodeRequest("n1"));

  EXPECT_THAT(Nbctl({"acl-list", "kuryr/node/n1"}), HasSubstr("udp.src == 67"));
  EXPECT_THAT(Nbctl({"acl-list", "kuryr/pool/shared"}), HasSubstr("udp.src == 67"));
  EXPECT_THAT(Nbctl({"acl-list", "kuryr/pool/shared"}), Not(HasSubstr("allow")));
}

TEST_F(OvnBackendTest, PoolMayLetItsPodsSendAsAnybody) {
  const auto backend = Make(
      "[pool:free]\ncidr = 10.8.0.0/24\nnamespaces = *\n"
      "port_security = false\n");

  const Vifs pod = Reserve(*backend, RequestOf(Pod("a"), "free"));

  EXPECT_THAT(Nbctl({"acl-list", "kuryr/pool/free"}), IsEmpty());
  EXPECT_THAT(Column("Logical_Switch_Port", "port_security", "name=" + IdOf(pod.at(0))), IsEmpty());
}

TEST_F(OvnBackendTest, PoolOfAllNodesHasOneSwitch) {
  const auto backend = Make();

  const Vifs pod = Reserve(*backend, RequestOf(Pod("a"), "shared"));

  EXPECT_THAT(Nbctl({"lsp-list", "kuryr/pool/shared"}), HasSubstr(IdOf(pod.at(0))));
}

TEST_F(OvnBackendTest, ReleasedOnesLeaveNothing) {
  const auto backend = Make();
  const Vifs node = Reserve(*backend, NodeRequest("n1"));
  (void)Reserve(*backend, PodRequest("a", node));

  ASSERT_TRUE(Await([&] { return backend->Release("uid-a"); }));
  EXPECT_TRUE(backend->Release("uid-a")) << "again";
  ASSERT_TRUE(Await([&] { return backend->Release("uid-n1"); }));

  EXPECT_THAT(Column("Logical_Switch_Port", "name"), IsEmpty());
  EXPECT_THAT(Column("Logical_Router_Port", "name"), IsEmpty());
  EXPECT_THAT(Column("Logical_Router_Static_Route", "nexthop"), IsEmpty());
  EXPECT_THAT(Column("Logical_Switch", "name"), ElementsAre("kuryr/pool/shared"));
  EXPECT_THAT(backend->Inventory(), IsEmpty());
}

TEST_F(OvnBackendTest, AddressIsKeptUntilThePortIsGone) {
  const auto backend = Make();
  const Vifs pod = Reserve(*backend, RequestOf(Pod("a"), "shared"));

  StopServer();
  EXPECT_FALSE(backend->Release("uid-a"));
  PlanRequest same = RequestOf(Pod("b"), "shared");
  same.interfaces[0].addresses = {pools::Ip(AddressesOf(pod.at(0))[0])};
  EXPECT_THROW((void)backend->Reserve(same), PlanError);
  StartServer();

  EXPECT_TRUE(Await([&] { return backend->Release("uid-a"); }));
}

TEST_F(OvnBackendTest, ServerThatIsAwayIsNamed) {
  StopServer();
  const auto backend = Make();

  std::string error;
  EXPECT_TRUE(Await([&] {
    error = pools::FailureOf([&] { (void)backend->Reserve(RequestOf(Pod("a"), "shared")); }).text;
    return !error.empty();
  }));
  EXPECT_THAT(error, HasSubstr("the northbound database at unix:/run/nb.sock does not answer: "));
}

TEST_F(OvnBackendTest, ClusterWithTheNameOfAnotherIsRefused) {
  auto first = Make();
  first->SetClusterUid("uid-first");
  const Vifs node = Reserve(*first, NodeRequest("n1"));
  ASSERT_TRUE(Await([] {
    return Nbctl({"get", "Logical_Router", "kuryr", "external_ids:kuryr-uid"}) == "uid-first";
  }));

  const auto second = Make();
  second->SetClusterUid("uid-second");
  std::optional<Vifs> given;
  const auto refused = [&]() -> std::string {
    try {
      given = second->Reserve(NodeRequest("n2"));
      return "";
    } catch (const PlanError& e) {
      return e.what();
    }
  };

  ASSERT_TRUE(Await([&] { return !refused().empty(); }));
  EXPECT_THAT(refused(), HasSubstr("has UID uid-first, has the rows of [ovn] cluster = kuryr: give "
                                   "this cluster another name there"));
  EXPECT_THAT(Column("Logical_Switch", "name"), ElementsAre("kuryr/node/n1", "kuryr/pool/shared"));
  first.reset();
  Nbctl({"remove", "Logical_Router", "kuryr", "external_ids", "kuryr-uid"});
  EXPECT_TRUE(Await([&] { return refused().empty() && given; })) << "the error's command helps";
}

TEST_F(OvnBackendTest, NextLeaderKeepsPorts) {
  auto backend = Make();
  const Vifs node = Reserve(*backend, NodeRequest("n1"));
  const Vifs pod = Reserve(*backend, PodRequest("a", node));
  const auto uuids = Column("Logical_Switch_Port", "_uuid");
  backend.reset();

  const auto next = MakeNext();
  next->Adopt({.id = "uid-n1", .name = "n1", .node = "n1"}, node);
  next->Adopt(Pod("a"), pod);
  next->EndAdoption();

  EXPECT_EQ(Reserve(*next, PodRequest("a", node)), pod);
  EXPECT_EQ(Column("Logical_Switch_Port", "_uuid"), uuids);
}

TEST_F(OvnBackendTest, PortOfASharedPoolStaysWhereItsPlanIsKeptInShort) {
  const auto backend = Make();
  const Vifs pod = Reserve(*backend, RequestOf(Pod("a"), "shared"));

  backend->Adopt(Pod("a"), KeptPlan(pod).vifs());

  EXPECT_EQ(Reserve(*backend, RequestOf(Pod("a"), "shared")), pod);
  EXPECT_THAT(Nbctl({"lsp-list", "kuryr/pool/shared"}), HasSubstr(IdOf(pod.at(0))));
}

TEST_F(OvnBackendTest, InterfaceThatIsTakenAwayLosesItsPort) {
  const auto backend = Make();
  const Vifs node = Reserve(*backend, NodeRequest("n1"));
  PlanRequest request = PodRequest("a", node);
  request.interfaces.push_back({.ifname = "net1", .network = "shared"});
  Vifs pod = Reserve(*backend, request);
  ASSERT_THAT(pod, SizeIs(2));
  const std::string gone = IdOf(pod.back());
  pod.pop_back();

  backend->ReleaseBut(Pod("a"), pod);

  EXPECT_TRUE(Await([&] { return Column("Logical_Switch_Port", "name", "name=" + gone).empty(); }));
}

}  // namespace
}  // namespace kuryr::controller::ovn
