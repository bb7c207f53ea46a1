#include "tests/controller/backends/ovn/ovn_backend_fixture.h"

namespace kuryr::controller::ovn {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class OvnServicesTest : public OvnBackendTest {
 protected:
  static ServiceEndpoint At(const std::string& address, uint16_t port,
                            const std::string& node = "") {
    return {.address = pools::Ip(address), .port = port, .node = node};
  }
  /// ovn-nbctl shows references only to rows that it has heard of.
  static std::string DumpOfSwitches(const std::string& column) {
    return test::RunProgram({.argv = {"ovsdb-client", "--no-headings", "dump", remote(),
                                      "OVN_Northbound", "Logical_Switch", column}})
        .out;
  }
  bool AwaitBalancers(const std::vector<std::string>& names) {
    return Await([&] { return Column("Load_Balancer", "name") == names; });
  }

  const Service web_ = {
      .cluster_ips = {pools::Ip("10.96.0.7"), pools::Ip("fd00:96::7")},
      .affinity = std::chrono::seconds(30),
      .local = false,
      .ports = {{.protocol = "tcp",
                 .port = 80,
                 .endpoints = {At("10.4.0.2", 8080), At("10.4.0.3", 8080), At("fd00:4::2", 8080)}},
                {.protocol = "tcp", .port = 81, .endpoints = {}},
                {.protocol = "udp", .port = 53, .endpoints = {At("10.4.0.2", 53)}}}};
};

TEST_F(OvnServicesTest, AreLoadBalancersOfAllSwitches) {
  const auto backend = Make("[ovn]\nservices = ovn\n");
  (void)Reserve(*backend, NodeRequest("n1"));

  backend->Balance("team/web", web_);

  ASSERT_TRUE(AwaitBalancers({"kuryr/team/web/tcp", "kuryr/team/web/udp"}));
  EXPECT_THAT(Column("Load_Balancer", "vips", "name=kuryr/team/web/tcp").at(0),
              HasSubstr("10.96.0.7:80=10.4.0.2:8080,10.4.0.3:8080"));
  EXPECT_THAT(Column("Load_Balancer", "vips", "name=kuryr/team/web/tcp").at(0),
              HasSubstr("[fd00:96::7]:80=[fd00:4::2]:8080"));
  EXPECT_THAT(Column("Load_Balancer", "options", "name=kuryr/team/web/udp"),
              ElementsAre("affinity_timeout=30 ct_flush=true reject=true"));
  EXPECT_THAT(Column("Load_Balancer", "options", "name=kuryr/team/web/tcp"),
              ElementsAre("affinity_timeout=30 reject=true"));
  const auto group = Column("Load_Balancer_Group", "_uuid");
  ASSERT_THAT(group, SizeIs(1));
  EXPECT_THAT(DumpOfSwitches("load_balancer_group"),
              ::testing::EndsWith("table\n[" + group[0] + "]\n"))
      << "in all switches";
  EXPECT_EQ(Nbctl({"--bare", "--columns=load_balancer", "list", "Load_Balancer_Group"}).size(),
            2 * 36 + 1);
}

TEST_F(OvnServicesTest, FollowTheirEndpoints) {
  const auto backend = Make("[ovn]\nservices = ovn\n");
  backend->Balance("team/web", web_);
  ASSERT_TRUE(AwaitBalancers({"kuryr/team/web/tcp", "kuryr/team/web/udp"}));
  Service changed = web_;
  changed.affinity.reset();
  changed.ports.resize(1);
  changed.ports[0].endpoints = {At("10.4.0.9", 8080)};

  backend->Balance("team/web", changed);

  ASSERT_TRUE(AwaitBalancers({"kuryr/team/web/tcp"}));
  EXPECT_THAT(Column("Load_Balancer", "vips"),
              ElementsAre("10.96.0.7:80=10.4.0.9:8080 [fd00:96::7]:80="));
  EXPECT_THAT(Column("Load_Balancer", "options"), ElementsAre("reject=true"));
  backend->Balance("team/web", {});
  EXPECT_TRUE(AwaitBalancers({}));
}

TEST_F(OvnServicesTest, DigestOfTheClientChoosesItsEndpointInUserspace) {
  const auto backend = Make("[ovn]\nservices = ovn\n[os_vif_ovs]\ndatapath_type = netdev\n");
  backend->Balance("team/web", web_);

  ASSERT_TRUE(AwaitBalancers({"kuryr/team/web/tcp", "kuryr/team/web/udp"}));
  EXPECT_THAT(Column("Load_Balancer", "selection_fields"), ElementsAre("eth_src", "eth_src"));
  EXPECT_THAT(Column("Load_Balancer", "options"), Each(Not(HasSubstr("affinity_timeout"))));

  Service changed = web_;
  changed.affinity.reset();
  backend->Balance("team/web", changed);
  EXPECT_TRUE(Await([] { return Column("Load_Balancer", "selection_fields").empty(); }));
}

TEST_F(OvnServicesTest, OneOfTooManyPortsIsNotBalanced) {
  const auto backend = Make("[ovn]\nservices = ovn\n");
  backend->Balance("team/web", web_);
  ASSERT_TRUE(AwaitBalancers({"kuryr/team/web/tcp", "kuryr/team/web/udp"}));
  Service large = web_;
  large.ports.resize(EndpointBudget::kMostVips, large.ports[1]);

  backend->Balance("team/web", large);

  EXPECT_TRUE(AwaitBalancers({}));
  EXPECT_THAT(backend->WhyNotBalanced("team/web").value_or(""), HasSubstr("spec.ports: 500 ports"));
  service::MetricsText text;
  backend->WriteTo(text);
  EXPECT_THAT(text.text(), HasSubstr("\nkuryr_controller_services_not_balanced 1\n"));
}

TEST_F(OvnServicesTest, OthersBalancersOfASwitchStay) {
  const auto backend = Make("[ovn]\nservices = ovn\n");
  (void)Reserve(*backend, NodeRequest("n1"));
  Nbctl(
      {"lb-add", "mine", "1.2.3.4:80", "10.4.0.2:80", "--", "ls-lb-add", "kuryr/node/n1", "mine"});

  backend->Balance("team/web", web_);

  ASSERT_TRUE(AwaitBalancers({"kuryr/team/web/tcp", "kuryr/team/web/udp", "mine"}));
  EXPECT_THAT(Nbctl({"ls-lb-list", "kuryr/node/n1"}), HasSubstr("mine"));
}

class OvnLocalServicesTest : public OvnServicesTest {
 protected:
  OvnLocalServicesTest() {
    local_.local = true;
    local_.ports = {{.protocol = "tcp",
                     .port = 80,
                     .endpoints = {At("10.4.0.2", 8080, "n1"), At("10.4.1.2", 8080, "n2"),
                                   At("10.9.0.7", 8080), At("fd00:4::2", 8080, "n1")}},
                    {.protocol = "udp", .port = 53, .endpoints = {At("10.4.0.2", 53, "n1")}},
                    {.protocol = "udp", .port = 54, .endpoints = {}}};
  }
  std::unique_ptr<OvnBackend> MakeWithNodes(const std::vector<std::string>& nodes) {
    auto backend = Make("[ovn]\nservices = ovn\n");
    for (const std::string& node : nodes) (void)Reserve(*backend, NodeRequest(node));
    return backend;
  }
  static std::vector<std::string> VipsOf(const std::string& balancer) {
    return Column("Load_Balancer", "vips", "name=kuryr/team/web/" + balancer);
  }
  static std::string BalancersAt(const std::string& name) {
    return Nbctl({"ls-lb-list", "kuryr/" + name});
  }

  Service local_ = web_;
  const std::vector<std::string> balancers_ = {"kuryr/team/web/tcp", "kuryr/team/web/tcp/n1",
                                               "kuryr/team/web/tcp/n2", "kuryr/team/web/udp",
                                               "kuryr/team/web/udp/n1"};
};

TEST_F(OvnLocalServicesTest, AreBalancedOverTheEndpointsOfEachNode) {
  const auto backend = MakeWithNodes({"n1", "n2", "n3"});

  backend->Balance("team/web", local_);

  ASSERT_TRUE(AwaitBalancers(balancers_));
  EXPECT_THAT(VipsOf("tcp/n1"),
              ElementsAre("10.96.0.7:80=10.4.0.2:8080 [fd00:96::7]:80=[fd00:4::2]:8080"));
  EXPECT_THAT(VipsOf("tcp/n2"), ElementsAre("10.96.0.7:80=10.4.1.2:8080"));
  EXPECT_THAT(VipsOf("udp/n1"), ElementsAre("10.96.0.7:53=10.4.0.2:53"));
  EXPECT_THAT(Column("Load_Balancer", "options"), Each(HasSubstr("affinity_timeout=30")));
  EXPECT_THAT(BalancersAt("node/n1"), HasSubstr("10.4.0.2:53"));
  EXPECT_THAT(BalancersAt("node/n2"), HasSubstr("10.4.1.2:8080"));
  EXPECT_THAT(BalancersAt("node/n2"), Not(HasSubstr("10.4.0.2")));
  EXPECT_THAT(BalancersAt("node/n3"), IsEmpty());
  EXPECT_THAT(Column("Load_Balancer_Group", "load_balancer"), IsEmpty());
}

TEST_F(OvnLocalServicesTest, DropWhatNoSwitchHasTranslated) {
  const auto backend = MakeWithNodes({"n1"});
  backend->Balance("team/web", local_);

  ASSERT_TRUE(Await([] {
    return Column("Logical_Router_Static_Route", "ip_prefix", "nexthop=discard") ==
           std::vector<std::string>{"10.96.0.7", "fd00:96::7"};
  }));

  backend->Balance("team/web", web_);
  EXPECT_TRUE(Await([] {
    return Column("Logical_Router_Static_Route", "ip_prefix", "nexthop=discard").empty();
  }));
}

TEST_F(OvnLocalServicesTest, AreBalancedOverAllEndpointsWhereNodesShareASwitch) {
  const auto backend = MakeWithNodes({"n1"});

  backend->Balance("team/web", local_);

  ASSERT_TRUE(
      Await([] { return BalancersAt("pool/shared").find("10.4.0.2:53") != std::string::npos; }));
  EXPECT_THAT(BalancersAt("pool/shared"), HasSubstr("10.4.0.2:8080,10.4.1.2:8080,10.9.0.7:8080"));
}

TEST_F(OvnLocalServicesTest, HaveABoundOfEndpointsWhereNodesShareASwitch) {
  local_.ports.resize(1);
  std::vector<ServiceEndpoint>& endpoints = local_.ports[0].endpoints;
  endpoints.clear();
  for (uint16_t port = 1; port <= ServicePort::kMostEndpoints + 1; ++port)
    endpoints.push_back(At("10.4.0.2", port, port % 2 == 0 ? "n1" : "n2"));
  const auto backend = MakeWithNodes({"n1"});

  backend->Balance("team/web", local_);

  ASSERT_TRUE(AwaitBalancers({"kuryr/team/web/tcp", "kuryr/team/web/tcp/n1"}));
  EXPECT_THAT(VipsOf("tcp").at(0), HasSubstr(",10.4.0.2:1000"));
  EXPECT_THAT(VipsOf("tcp").at(0), Not(HasSubstr("10.4.0.2:1001")));
}

TEST_F(OvnLocalServicesTest, WaitForTheSwitchesOfTheirNodes) {
  const auto backend = MakeWithNodes({"n1"});
  backend->Balance("team/web", local_);
  ASSERT_TRUE(AwaitBalancers({"kuryr/team/web/tcp", "kuryr/team/web/tcp/n1", "kuryr/team/web/udp",
                              "kuryr/team/web/udp/n1"}));

  (void)Reserve(*backend, NodeRequest("n2"));

  EXPECT_TRUE(AwaitBalancers(balancers_));
}

TEST_F(OvnLocalServicesTest, HaveNoRowOfANodeThatIsGoneUntilItIsBack) {
  const auto backend = MakeWithNodes({"n1", "n2"});
  backend->Balance("team/web", local_);
  ASSERT_TRUE(AwaitBalancers(balancers_));

  EXPECT_TRUE(Await([&] { return backend->Release("uid-n2"); }));
  EXPECT_TRUE(AwaitBalancers({"kuryr/team/web/tcp", "kuryr/team/web/tcp/n1", "kuryr/team/web/udp",
                              "kuryr/team/web/udp/n1"}));

  (void)Reserve(*backend, NodeRequest("n2"));
  EXPECT_TRUE(AwaitBalancers(balancers_));
}

TEST_F(OvnLocalServicesTest, ChangeIntoOthersAndBack) {
  const auto backend = MakeWithNodes({"n1", "n2"});
  backend->Balance("team/web", web_);
  ASSERT_TRUE(AwaitBalancers({"kuryr/team/web/tcp", "kuryr/team/web/udp"}));

  backend->Balance("team/web", local_);
  ASSERT_TRUE(AwaitBalancers(balancers_));
  EXPECT_THAT(Column("Load_Balancer_Group", "load_balancer"), IsEmpty());

  backend->Balance("team/web", web_);
  ASSERT_TRUE(AwaitBalancers({"kuryr/team/web/tcp", "kuryr/team/web/udp"}));
  EXPECT_THAT(DumpOfSwitches("load_balancer"), Not(HasSubstr("-"))) << "no UUID";
  EXPECT_THAT(Column("Load_Balancer_Group", "load_balancer"), SizeIs(1));

  backend->Balance("team/web", {});
  EXPECT_TRUE(AwaitBalancers({}));
}

TEST_F(OvnLocalServicesTest, LoseWhatAFormerLeaderHasLeftWhenTheNextOneIsTold) {
  {
    const auto former = MakeWithNodes({"n1", "n2"});
    former->Balance("team/web", local_);
    ASSERT_TRUE(AwaitBalancers(balancers_));
  }
  const auto backend = MakeWithNodes({"n1", "n2"});
  local_.ports[0].endpoints = {At("10.4.1.2", 8080, "n2")};
  local_.ports.resize(1);

  backend->Balance("team/web", local_);

  EXPECT_TRUE(AwaitBalancers({"kuryr/team/web/tcp", "kuryr/team/web/tcp/n2"}));
}

}  // namespace
}  // namespace kuryr::controller::ovn
