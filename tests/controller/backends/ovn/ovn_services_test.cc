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
  /// How many load balancers the group has.
  static size_t BalancersIn(const std::string& group) {
    const auto balancers = Column("Load_Balancer_Group", "load_balancer", "name=kuryr/" + group);
    return balancers.empty() ? 0 : 1 + static_cast<size_t>(std::ranges::count(balancers[0], ' '));
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
  const auto group = Column("Load_Balancer_Group", "_uuid", "name=kuryr/services");
  ASSERT_THAT(group, SizeIs(1));
  EXPECT_THAT(Column("Logical_Switch", "name", "load_balancer_group{>=}" + group[0]),
              SizeIs(Column("Logical_Switch", "name").size()));
  EXPECT_EQ(BalancersIn("services"), 2U);
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
  EXPECT_EQ(BalancersIn("services"), 2U);

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

class OvnPreferencesTest : public OvnServicesTest {
 protected:
  OvnPreferencesTest() {
    hinted_.ports = {{.protocol = "tcp",
                      .port = 80,
                      .endpoints = {At("10.4.0.2", 80), At("10.4.1.2", 80), At("fd00:4::2", 80)},
                      .of_zone = {{"a", {At("10.4.0.2", 80)}}, {"far", {At("10.4.1.2", 80)}}}}};
  }
  /// Nodes n1 and n2 in zone a, n3 in zone b, and n4 in none.
  std::unique_ptr<OvnBackend> MakeWithZones() {
    auto backend = Make("[ovn]\nservices = ovn\n");
    for (const char* node : {"n1", "n2"}) backend->SetZone(node, "a");
    backend->SetZone("n3", "b");
    for (const char* node : {"n1", "n2", "n3", "n4"}) (void)Reserve(*backend, NodeRequest(node));
    return backend;
  }
  static std::vector<std::string> VipsOf(const std::string& suffix) {
    return Column("Load_Balancer", "vips", "name=kuryr/team/web/tcp" + suffix);
  }
  /// The switches that have the load balancer, by a group or by themselves.
  static std::set<std::string> SwitchesWith(const std::string& suffix) {
    const auto uuid = Column("Load_Balancer", "_uuid", "name=kuryr/team/web/tcp" + suffix);
    std::set<std::string> names;
    if (uuid.empty()) return names;
    const auto add = [&](const std::string& condition) {
      for (const std::string& name : Column("Logical_Switch", "name", condition))
        EXPECT_TRUE(names.insert(name).second) << name << " has it twice";
    };
    add("load_balancer{>=}" + uuid[0]);
    for (const std::string& group :
         Column("Load_Balancer_Group", "_uuid", "load_balancer{>=}" + uuid[0]))
      add("load_balancer_group{>=}" + group);
    return names;
  }
  bool AwaitSwitches(const std::string& suffix, const std::set<std::string>& names) {
    return Await([&] { return SwitchesWith(suffix) == names; });
  }

  Service hinted_ = web_;
};

TEST_F(OvnPreferencesTest, EachZoneReachesItsOwnAndTheOthersAll) {
  const auto backend = MakeWithZones();

  backend->Balance("team/web", hinted_);

  ASSERT_TRUE(AwaitSwitches("/zone/a", {"kuryr/node/n1", "kuryr/node/n2"}));
  ASSERT_TRUE(AwaitSwitches("", {"kuryr/node/n3", "kuryr/node/n4", "kuryr/pool/shared"}));
  EXPECT_THAT(VipsOf("/zone/a"),
              ElementsAre("10.96.0.7:80=10.4.0.2:80 [fd00:96::7]:80=[fd00:4::2]:80"))
      << "IPv6 counts by itself";
  EXPECT_THAT(VipsOf(""),
              ElementsAre("10.96.0.7:80=10.4.0.2:80,10.4.1.2:80 [fd00:96::7]:80=[fd00:4::2]:80"));
  EXPECT_THAT(Column("Load_Balancer", "name"), SizeIs(2)) << "no node is in zone far";
  EXPECT_EQ(BalancersIn("services"), 0U);
}

TEST_F(OvnPreferencesTest, FollowTheZonesOfNodes) {
  const auto backend = MakeWithZones();
  backend->Balance("team/web", hinted_);
  ASSERT_TRUE(AwaitSwitches("/zone/a", {"kuryr/node/n1", "kuryr/node/n2"}));

  backend->SetZone("n2", "far");
  EXPECT_TRUE(AwaitSwitches("/zone/far", {"kuryr/node/n2"}));
  EXPECT_TRUE(AwaitSwitches("/zone/a", {"kuryr/node/n1"}));

  backend->SetZone("n1", "");
  EXPECT_TRUE(
      AwaitSwitches("", {"kuryr/node/n1", "kuryr/node/n3", "kuryr/node/n4", "kuryr/pool/shared"}));
  EXPECT_TRUE(AwaitBalancers({"kuryr/team/web/tcp", "kuryr/team/web/tcp/zone/far"}));
  EXPECT_TRUE(Await(
      [] { return Column("Load_Balancer_Group", "name", "name=kuryr/services/zone/a").empty(); }));

  EXPECT_TRUE(Await([&] { return backend->Release("uid-n2"); }));
  EXPECT_TRUE(AwaitBalancers({"kuryr/team/web/tcp"}));
}

TEST_F(OvnPreferencesTest, ANodesOwnGoBeforeItsZones) {
  hinted_.ports[0].of_node = {{"n1", {At("10.4.1.2", 80)}}, {"gone", {At("10.4.0.2", 80)}}};
  const auto backend = MakeWithZones();

  backend->Balance("team/web", hinted_);

  ASSERT_TRUE(AwaitSwitches("/n1", {"kuryr/node/n1"}));
  ASSERT_TRUE(AwaitSwitches("/zone/a", {"kuryr/node/n2"}));
  ASSERT_TRUE(AwaitSwitches("", {"kuryr/node/n3", "kuryr/node/n4", "kuryr/pool/shared"}));
  EXPECT_THAT(VipsOf("/n1"),
              ElementsAre("10.96.0.7:80=10.4.1.2:80 [fd00:96::7]:80=[fd00:4::2]:80"));

  (void)Reserve(*backend, NodeRequest("gone"));
  EXPECT_TRUE(AwaitSwitches("/gone", {"kuryr/node/gone"}));
}

TEST_F(OvnPreferencesTest, AreGivenUpAndTakenUp) {
  const Service preferring = hinted_;
  hinted_.ports[0].of_zone.clear();
  const auto backend = MakeWithZones();
  backend->Balance("team/web", hinted_);
  ASSERT_TRUE(Await([] { return BalancersIn("services") == 1; }));

  backend->Balance("team/web", preferring);
  ASSERT_TRUE(AwaitSwitches("/zone/a", {"kuryr/node/n1", "kuryr/node/n2"}));
  EXPECT_EQ(BalancersIn("services"), 0U);

  backend->Balance("team/web", hinted_);
  EXPECT_TRUE(AwaitBalancers({"kuryr/team/web/tcp"}));
  EXPECT_EQ(SwitchesWith("").size(), 5U);
  backend->SetZone("n3", "a");
  EXPECT_TRUE(AwaitBalancers({"kuryr/team/web/tcp"}));

  backend->Balance("team/web", {});
  EXPECT_TRUE(AwaitBalancers({}));
}

TEST_F(OvnPreferencesTest, NextLeaderRemovesGroupsOfZonesThatAreGone) {
  {
    const auto former = MakeWithZones();
  }
  ASSERT_TRUE(Await(
      [] { return !Column("Load_Balancer_Group", "name", "name=kuryr/services/zone/a").empty(); }));

  const auto backend = std::make_unique<OvnBackend>(
      ReadOptionsOf(std::string(kPools) + "[ovn]\nservices = ovn\n"),
      BackendHooks{.wake = [this](const Owner&) { Tell(); }, .may_write = [] { return true; }},
      std::chrono::milliseconds(1));
  backend->EndAdoption();

  EXPECT_TRUE(Await(
      [] { return Column("Load_Balancer_Group", "name", "name=kuryr/services/zone/a").empty(); }));
}

}  // namespace
}  // namespace kuryr::controller::ovn
