#include "controller/cluster/services.h"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/controller/bare_backend.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using watcher::EventType;

class Balancer : public test::BareBackend, public ServiceBalancer {
 public:
  Facets facets() override { return {.services = this}; }
  void Balance(const std::string& name, const Service& service) override { told[name] = service; }
  void SetZone(const std::string& /*node*/, const std::string& /*zone*/) override {}
  std::optional<std::string> WhyNotBalanced(const std::string& name) const override {
    const auto refusal = refused.find(name);
    return refusal == refused.end() ? std::nullopt : std::optional(refusal->second);
  }

  std::map<std::string, Service> told;
  std::map<std::string, std::string> refused;
};

class ServicesTest : public ::testing::Test {
 protected:
  ServicesTest() { services_.BeginTerm({balancer_}); }

  void Tell(EventType type, json object) {
    services_.Handle(watcher::MakeEvent(type, std::move(object)));
  }
  void Tell(const std::string& object) { Tell(EventType::kAdded, json::parse(object)); }
  const Service& web() { return balancer_.told.at("team/web"); }
  static ServiceEndpoint At(const std::string& address, uint16_t port,
                            const std::string& node = "") {
    return {.address = IpAddress::Parse(address).value(), .port = port, .node = node};
  }

  /// Its ready endpoints are hinted so, in their order.
  json HintedSlice(const std::vector<std::string>& hints) const {
    json slice = slice_;
    slice["endpoints"] = json::array();
    for (const std::string& each : hints) {
      const std::string address = "10.4.0." + std::to_string(slice["endpoints"].size() + 2);
      slice["endpoints"].push_back({{"addresses", {address}}, {"hints", json::parse(each)}});
    }
    return slice;
  }

  /// The first endpoint's conditions are those.
  json SliceWith(const std::string& conditions) const {
    json slice = slice_;
    slice["endpoints"][0]["conditions"] = json::parse(conditions);
    return slice;
  }

  std::vector<std::string> woken_;
  Services services_{{.wake = [this](const Key& key) { woken_.push_back(key.ToString()); }}};
  Balancer balancer_;
  const json service_ = json::parse(R"({"kind": "Service", "apiVersion": "v1",
      "metadata": {"namespace": "team", "name": "web"},
      "spec": {"clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7", "fd00:96::7"],
               "ports": [{"name": "http", "port": 80, "targetPort": 8080},
                         {"name": "dns", "protocol": "UDP", "port": 53}]}})");
  const json slice_ = json::parse(R"({"kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1",
      "metadata": {"namespace": "team", "name": "web-1",
                   "labels": {"kubernetes.io/service-name": "web"}},
      "addressType": "IPv4",
      "ports": [{"name": "http", "port": 8080}, {"name": "dns", "protocol": "UDP", "port": 5353}],
      "endpoints": [{"addresses": ["10.4.0.2"], "conditions": {"ready": true}},
                    {"addresses": ["10.4.0.3"], "conditions": {"ready": false}},
                    {"addresses": ["10.4.0.4"]}]})");
};

TEST_F(ServicesTest, HaveTheirReadyEndpoints) {
  Tell(EventType::kAdded, service_);
  Tell(EventType::kAdded, slice_);

  EXPECT_THAT(web().cluster_ips, SizeIs(2));
  ASSERT_THAT(web().ports, SizeIs(2));
  EXPECT_EQ(web().ports[0].protocol, "tcp");
  EXPECT_EQ(web().ports[0].port, 80);
  EXPECT_THAT(web().ports[0].endpoints, ElementsAre(At("10.4.0.2", 8080), At("10.4.0.4", 8080)));
  EXPECT_EQ(web().ports[1].protocol, "udp");
  EXPECT_THAT(web().ports[1].endpoints, ElementsAre(At("10.4.0.2", 5353), At("10.4.0.4", 5353)));
  EXPECT_EQ(web().affinity, std::nullopt);
}

TEST_F(ServicesTest, EndpointThatServesAtItsEndIsUsedWhereNoneIsReady) {
  json slice = SliceWith(R"({"ready": false, "serving": true, "terminating": true})");
  Tell(EventType::kAdded, service_);
  Tell(EventType::kAdded, slice);
  EXPECT_THAT(web().ports[0].endpoints, ElementsAre(At("10.4.0.4", 8080)));

  slice["endpoints"].erase(2);
  Tell(EventType::kModified, slice);
  EXPECT_THAT(web().ports[0].endpoints, ElementsAre(At("10.4.0.2", 8080)));

  slice["endpoints"][0]["conditions"]["serving"] = false;
  Tell(EventType::kModified, slice);
  EXPECT_THAT(web().ports[0].endpoints, IsEmpty());
}

TEST_F(ServicesTest, EachPortHasEndpointsThatServeAtTheirEnd) {
  json ending = SliceWith(R"({"ready": false, "serving": true, "terminating": true})");
  ending["endpoints"].erase(2);
  json ready = slice_;
  ready["metadata"]["name"] = "web-2";
  ready["ports"].erase(1);
  Tell(EventType::kAdded, service_);
  Tell(EventType::kAdded, ending);
  Tell(EventType::kAdded, ready);

  EXPECT_THAT(web().ports[0].endpoints, ElementsAre(At("10.4.0.2", 8080), At("10.4.0.4", 8080)));
  EXPECT_THAT(web().ports[1].endpoints, ElementsAre(At("10.4.0.2", 5353)));
}

TEST_F(ServicesTest, LocalOnesHaveEndpointsThatServeAtTheirEndByNode) {
  json service = service_;
  service["spec"]["internalTrafficPolicy"] = "Local";
  json slice = SliceWith(R"({"ready": false, "serving": true, "terminating": true})");
  slice["endpoints"][0]["nodeName"] = "n1";
  slice["endpoints"][2]["nodeName"] = "n2";
  Tell(EventType::kAdded, service);
  Tell(EventType::kAdded, slice);

  EXPECT_THAT(web().ports[0].endpoints,
              ElementsAre(At("10.4.0.2", 8080, "n1"), At("10.4.0.4", 8080, "n2")));
}

TEST_F(ServicesTest, AddressOfAPodThatIsNotReadyIsNotItsFormerPods) {
  json former = SliceWith(R"({"ready": false, "serving": true, "terminating": true})");
  former["endpoints"].erase(2);
  json next = SliceWith(R"({"ready": false, "serving": false, "terminating": false})");
  next["metadata"]["name"] = "web-2";
  next["endpoints"].erase(2);
  Tell(EventType::kAdded, service_);
  Tell(EventType::kAdded, former);
  Tell(EventType::kAdded, next);

  EXPECT_THAT(web().ports[0].endpoints, IsEmpty());
}

TEST_F(ServicesTest, AreLeftToOthersByTheirLabels) {
  for (const char* label :
       {"service.kubernetes.io/service-proxy-name", "service.kubernetes.io/headless"}) {
    Tell(EventType::kAdded, service_);
    Tell(EventType::kAdded, slice_);
    ASSERT_THAT(web().cluster_ips, SizeIs(2));

    json service = service_;
    service["metadata"]["labels"][label] = "";
    Tell(EventType::kModified, service);
    EXPECT_THAT(web().cluster_ips, IsEmpty()) << label;

    Tell(EventType::kModified, service_);
    ASSERT_THAT(web().ports.at(0).endpoints, SizeIs(2));
    json slice = slice_;
    slice["metadata"]["labels"][label] = "";
    Tell(EventType::kModified, slice);
    EXPECT_THAT(web().ports.at(0).endpoints, IsEmpty()) << label;
  }
}

TEST_F(ServicesTest, AddressesThatNoHostHasArePassedOver) {
  json slice = slice_;
  slice["endpoints"] = json::array();
  for (const char* address :
       {"0.0.0.0", "0.0.0.1", "000.000.000.000", "127.0.0.1", "169.254.0.1", "224.0.0.1",
        "239.1.2.3", "255.255.255.255", "::", "::1", "0:0:0:0:0:0:0:0", "::0.0.0.0",
        "::ffff:0.0.0.0", "::ffff:0:0", "::ffff:10.4.0.2", "fe80::1", "ff02::1", "10.4.0.9"})
    slice["endpoints"].push_back({{"addresses", {address}}});
  Tell(EventType::kAdded, service_);
  Tell(EventType::kAdded, slice);

  EXPECT_THAT(web().ports[0].endpoints, ElementsAre(At("10.4.0.9", 8080)));
}

TEST_F(ServicesTest, PortWithoutANumberHasNoEndpoint) {
  json slice = slice_;
  slice["ports"][0]["port"] = nullptr;
  Tell(EventType::kAdded, service_);
  Tell(EventType::kAdded, slice);

  EXPECT_THAT(web().ports[0].endpoints, IsEmpty());
  EXPECT_THAT(web().ports[1].endpoints, SizeIs(2));
}

TEST_F(ServicesTest, PortsOfSlicesMayHaveDifferentNumbers) {
  json other = slice_;
  other["metadata"]["name"] = "web-2";
  other["ports"][0]["port"] = 9090;
  other["endpoints"] = json::parse(R"([{"addresses": ["10.4.0.5"]}])");
  Tell(EventType::kAdded, service_);
  Tell(EventType::kAdded, slice_);
  Tell(EventType::kAdded, other);

  EXPECT_THAT(web().ports[0].endpoints,
              ElementsAre(At("10.4.0.2", 8080), At("10.4.0.4", 8080), At("10.4.0.5", 9090)));
}

TEST_F(ServicesTest, WakeTheKeyOfWhatIsNotBalanced) {
  Tell(EventType::kAdded, service_);
  EXPECT_THAT(woken_, IsEmpty());
  balancer_.refused["team/web"] = "spec.ports: too many";

  Tell(EventType::kModified, service_);

  EXPECT_THAT(woken_, ElementsAre("service:team/web"));
}

TEST_F(ServicesTest, TellEachMessageOnce) {
  json service = service_;
  service["metadata"]["uid"] = "7";
  Tell(EventType::kAdded, service);

  EXPECT_EQ(services_.UidForNews("team/web", "too many"), "7");
  EXPECT_EQ(services_.UidForNews("team/web", "too many"), std::nullopt);
  EXPECT_EQ(services_.UidForNews("team/web", "far too many"), "7");
  EXPECT_EQ(services_.UidForNews("team/other", "too many"), std::nullopt);
}

TEST_F(ServicesTest, SliceMayComeFirst) {
  Tell(EventType::kAdded, slice_);
  Tell(EventType::kAdded, service_);

  EXPECT_THAT(web().ports.at(0).endpoints, SizeIs(2));
}

TEST_F(ServicesTest, EndpointsOfBothVersionsCountOnce) {
  json beta = slice_;
  beta["apiVersion"] = "discovery.k8s.io/v1beta1";
  Tell(EventType::kAdded, service_);
  Tell(EventType::kAdded, slice_);
  Tell(EventType::kAdded, beta);
  EXPECT_THAT(web().ports.at(0).endpoints, SizeIs(2));

  Tell(EventType::kDeleted, beta);
  EXPECT_THAT(web().ports.at(0).endpoints, SizeIs(2));
  Tell(EventType::kDeleted, slice_);
  EXPECT_THAT(web().ports.at(0).endpoints, IsEmpty());
}

TEST_F(ServicesTest, SliceMayBecomeAnothers) {
  Tell(EventType::kAdded, service_);
  Tell(EventType::kAdded, slice_);
  json moved = slice_;
  moved["metadata"]["labels"]["kubernetes.io/service-name"] = "other";

  Tell(EventType::kModified, moved);

  EXPECT_THAT(web().ports.at(0).endpoints, IsEmpty());
}

TEST_F(ServicesTest, DeletedOnesHaveNoAddress) {
  Tell(EventType::kAdded, service_);
  Tell(EventType::kAdded, slice_);

  Tell(EventType::kDeleted, service_);

  EXPECT_THAT(web().cluster_ips, IsEmpty());
}

TEST_F(ServicesTest, HeadlessAndExternalNamesHaveNoAddress) {
  json service = service_;
  service["spec"]["clusterIP"] = "None";
  service["spec"]["clusterIPs"] = json::array({"None"});
  Tell(EventType::kAdded, service);
  EXPECT_THAT(web().cluster_ips, IsEmpty());

  service = service_;
  service["spec"]["type"] = "ExternalName";
  Tell(EventType::kModified, service);
  EXPECT_THAT(web().cluster_ips, IsEmpty());
}

TEST_F(ServicesTest, AffinityHasAnEnd) {
  json service = service_;
  service["spec"]["sessionAffinity"] = "ClientIP";
  Tell(EventType::kAdded, service);
  EXPECT_EQ(web().affinity, std::chrono::hours(3)) << "the API's default";

  service["spec"]["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"] = 30;
  Tell(EventType::kModified, service);
  EXPECT_EQ(web().affinity, std::chrono::seconds(30));
}

TEST_F(ServicesTest, LocalOnesKnowTheNodesOfTheirEndpoints) {
  json service = service_;
  service["spec"]["internalTrafficPolicy"] = "Local";
  json slice = slice_;
  slice["endpoints"][0]["nodeName"] = "n1";
  Tell(EventType::kAdded, service);
  Tell(EventType::kAdded, slice);

  EXPECT_TRUE(web().local);
  EXPECT_THAT(web().ports[0].endpoints,
              ElementsAre(At("10.4.0.2", 8080, "n1"), At("10.4.0.4", 8080)));

  service["spec"]["internalTrafficPolicy"] = "Cluster";
  Tell(EventType::kModified, service);
  EXPECT_FALSE(web().local);
  EXPECT_THAT(web().ports[0].endpoints, ElementsAre(At("10.4.0.2", 8080), At("10.4.0.4", 8080)));
}

TEST_F(ServicesTest, NodeWithAnImpossibleNameIsNone) {
  json service = service_;
  service["spec"]["internalTrafficPolicy"] = "Local";
  json slice = slice_;
  slice["endpoints"][0]["nodeName"] = "n1/tcp";
  slice["endpoints"][2]["nodeName"] = 7;
  Tell(EventType::kAdded, service);
  Tell(EventType::kAdded, slice);

  EXPECT_THAT(web().ports[0].endpoints, ElementsAre(At("10.4.0.2", 8080), At("10.4.0.4", 8080)));
}

TEST_F(ServicesTest, LocalOnesHaveABoundForEachNode) {
  json service = service_;
  service["spec"]["internalTrafficPolicy"] = "Local";
  json slice = slice_;
  slice["endpoints"] = json::array();
  for (int i = 0; i < 3000; ++i) {
    slice["endpoints"].push_back(
        {{"addresses", {"10.4." + std::to_string(i / 250) + "." + std::to_string(i % 250)}},
         {"nodeName", i < 2000 ? "n1" : "n2"}});
  }
  Tell(EventType::kAdded, service);
  Tell(EventType::kAdded, slice);

  EXPECT_THAT(web().ports.at(0).endpoints, SizeIs(2 * ServicePort::kMostEndpoints));
}

TEST_F(ServicesTest, ClientsPreferTheEndpointsThatAreHintedForThem) {
  Tell(EventType::kAdded, service_);
  Tell(EventType::kAdded,
       HintedSlice(
           {R"({"forZones": [{"name": "a"}], "forNodes": [{"name": "n1"}]})",
            R"({"forZones": [{"name": "a"}, {"name": "b"}], "forNodes": [{"name": "n2"}]})",
            R"({"forZones": [{"name": "b"}, {"name": "b"}], "forNodes": [{"name": "n2"}]})"}));

  const ServicePort& port = web().ports.at(0);
  EXPECT_THAT(port.endpoints, SizeIs(3));
  EXPECT_THAT(port.of_zone,
              ElementsAre(Pair("a", ElementsAre(At("10.4.0.2", 8080), At("10.4.0.3", 8080))),
                          Pair("b", ElementsAre(At("10.4.0.3", 8080), At("10.4.0.4", 8080)))));
  EXPECT_THAT(port.of_node,
              ElementsAre(Pair("n1", ElementsAre(At("10.4.0.2", 8080))),
                          Pair("n2", ElementsAre(At("10.4.0.3", 8080), At("10.4.0.4", 8080)))));
}

TEST_F(ServicesTest, HintsOfAKindCountWhereEachReadyEndpointHasThem) {
  Tell(EventType::kAdded, service_);
  json slice = HintedSlice({R"({"forZones": [{"name": "a"}], "forNodes": [{"name": "n1"}]})",
                            R"({"forZones": [{"name": "b"}], "forNodes": []})"});
  Tell(EventType::kAdded, slice);
  EXPECT_THAT(web().ports.at(0).of_node, IsEmpty());
  EXPECT_THAT(web().ports.at(0).of_zone, SizeIs(2));

  slice["endpoints"][1].erase("hints");
  Tell(EventType::kModified, slice);
  EXPECT_THAT(web().ports.at(0).of_zone, IsEmpty());

  slice["endpoints"][1]["conditions"]["ready"] = false;
  Tell(EventType::kModified, slice);
  EXPECT_THAT(web().ports.at(0).of_zone, ElementsAre(Pair("a", ElementsAre(At("10.4.0.2", 8080)))))
      << "endpoints that are not ready do not count";
}

TEST_F(ServicesTest, HintsOfEachFamilyCountByThemselves) {
  Tell(EventType::kAdded, service_);
  json slice = HintedSlice({R"({"forZones": [{"name": "a"}]})", "{}"});
  slice["endpoints"][1]["addresses"] = {"fd00:4::2"};
  Tell(EventType::kAdded, slice);

  EXPECT_THAT(web().ports.at(0).of_zone, ElementsAre(Pair("a", ElementsAre(At("10.4.0.2", 8080)))));
}

TEST_F(ServicesTest, EndpointsAtTheirEndAndThoseOfLocalOnesArePreferredByNobody) {
  json service = service_;
  json slice = HintedSlice({R"({"forZones": [{"name": "a"}], "forNodes": [{"name": "n1"}]})"});
  slice["endpoints"][0]["conditions"] =
      json::parse(R"({"ready": false, "serving": true, "terminating": true})");
  Tell(EventType::kAdded, service);
  Tell(EventType::kAdded, slice);
  EXPECT_THAT(web().ports.at(0).endpoints, SizeIs(1));
  EXPECT_FALSE(HasPreferences(web()));

  slice["endpoints"][0].erase("conditions");
  Tell(EventType::kModified, slice);
  EXPECT_TRUE(HasPreferences(web()));
  service["spec"]["internalTrafficPolicy"] = "Local";
  Tell(EventType::kModified, service);
  EXPECT_FALSE(HasPreferences(web()));
}

TEST_F(ServicesTest, HintsHaveABoundAndMayBeMalformed) {
  json many = json::array();
  for (size_t i = 0; i <= Services::kMostHints; ++i)
    many.push_back({{"name", "zone-" + std::to_string(i)}});
  Tell(EventType::kAdded, service_);
  Tell(EventType::kAdded, HintedSlice({json{{"forZones", many}, {"forNodes", 7}}.dump()}));
  EXPECT_THAT(web().ports.at(0).of_zone, SizeIs(Services::kMostHints));
  EXPECT_THAT(web().ports.at(0).of_node, IsEmpty());

  Tell(EventType::kModified, HintedSlice({R"({"forZones": [7, {}, {"name": 7}, {"name": ""}]})"}));
  EXPECT_THAT(web().ports.at(0).of_zone, IsEmpty());
}

TEST_F(ServicesTest, MalformedFieldsArePassedOver) {
  Tell(R"({"kind": "Service", "metadata": {"namespace": "team", "name": "web"}, "spec": 7})");
  Tell(R"({"kind": "Service", "metadata": {"namespace": "team", "name": "web"},
           "spec": {"clusterIPs": [7, "no"], "ports": [7, {"port": "http"}, {"port": -1}]}})");
  Tell(R"({"kind": "EndpointSlice", "metadata": {"namespace": "team", "name": "x",
           "labels": {"kubernetes.io/service-name": "web"}},
           "ports": 7, "endpoints": [7, {"addresses": 7}, {"addresses": [7]}]})");

  EXPECT_THAT(web().cluster_ips, IsEmpty());
}

TEST_F(ServicesTest, EndpointsThatAreLookedAtHaveABound) {
  json slice = slice_;
  slice["endpoints"] = json::array();
  for (size_t i = 0; i <= Services::kMostLooks; ++i) {
    slice["endpoints"].push_back({{"addresses",
                                   {"10." + std::to_string(i / 62'500) + "." +
                                    std::to_string(i / 250 % 250) + "." + std::to_string(i % 250)}},
                                  {"conditions", {{"ready", i == Services::kMostLooks}}}});
  }
  Tell(EventType::kAdded, service_);
  Tell(EventType::kAdded, slice);

  EXPECT_THAT(web().ports.at(0).endpoints, IsEmpty());
}

TEST_F(ServicesTest, EndpointsHaveABound) {
  json slice = slice_;
  slice["endpoints"] = json::array();
  for (int i = 0; i < 2000; ++i) {
    slice["endpoints"].push_back(
        {{"addresses", {"10.4." + std::to_string(i / 250) + "." + std::to_string(i % 250)}}});
  }
  Tell(EventType::kAdded, service_);
  Tell(EventType::kAdded, slice);

  EXPECT_THAT(web().ports.at(0).endpoints, SizeIs(ServicePort::kMostEndpoints));
  json service = service_;
  for (int port = 1000; port < 1100; ++port)
    service["spec"]["ports"].push_back({{"name", "http"}, {"port", port}});
  Tell(EventType::kModified, service);

  size_t all = 0;
  for (const ServicePort& port : web().ports) all += port.endpoints.size();
  EXPECT_EQ(all, Services::kMostOfAllPorts);
}

}  // namespace
}  // namespace kuryr::controller
