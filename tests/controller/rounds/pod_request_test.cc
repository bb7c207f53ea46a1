#include "controller/rounds/pod_request.h"
#include "controller/plan/security_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "controller/cluster/namespaces.h"
#include "controller/plan/network_selection.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PlanRequestTest : public ::testing::Test {
 protected:
  PlanRequestTest() {
    Define("infra", "storage", {{"openstack.org/kuryr-config", R"({"pool": "storage-pool"})"}});
    Define("tenant", "lan", {{"openstack.org/kuryr-config", R"({"pool": "lan-pool"})"}});
    Define("tenant", "bridge", json::object());
  }

  void Define(const std::string& name_space, const std::string& name, const json& annotations) {
    attachments_.Handle(watcher::MakeEvent(
        watcher::EventType::kAdded,
        {{"kind", "NetworkAttachmentDefinition"},
         {"metadata", {{"namespace", name_space}, {"name", name}, {"annotations", annotations}}}}));
  }
  void Claim(const std::string& name, const json& ips) {
    claims_.Handle(watcher::MakeEvent(
        watcher::EventType::kAdded,
        {{"kind", "IPAMClaim"},
         {"metadata", {{"namespace", "tenant"}, {"name", name}, {"uid", "uid-" + name}}},
         {"status", {{"ips", ips}}}}));
  }
  /// The request of a pod of namespace tenant.
  PlanRequest RequestOf(const json& annotations) {
    const auto pod = watcher::MakeEvent(
        watcher::EventType::kAdded,
        {{"kind", "Pod"},
         {"metadata",
          {{"namespace", "tenant"}, {"name", "pod"}, {"uid", "1"}, {"annotations", annotations}}},
         {"spec", {{"nodeName", "node1"}}}});
    return PlanRequestOf(PodFactsOf(pod, {}), {}, attachments_, claims_);
  }
  PlanRequest RequestWith(const std::string& networks) {
    return RequestOf({{kNetworksAnnotation, networks}});
  }
  std::string Refusal(const json& annotations) {
    try {
      (void)RequestOf(annotations);
      return "";
    } catch (const PlanError& e) {
      return e.what();
    }
  }
  /// The interfaces as "IFNAME=NETWORK", with "*" for the default one.
  static std::vector<std::string> Summary(const PlanRequest& request) {
    std::vector<std::string> interfaces;
    for (const InterfaceRequest& interface : request.interfaces)
      interfaces.push_back(interface.ifname + "=" + interface.network +
                           (interface.is_default ? "*" : ""));
    return interfaces;
  }

  NetworkAttachments attachments_{KindParts{}};
  IpamClaims claims_{KindParts{}};
};

TEST_F(PlanRequestTest, PodWithoutWishesHasOneInterfaceOfTheBackendsChoice) {
  const PlanRequest request = RequestOf(json::object());

  EXPECT_THAT(Summary(request), ElementsAre("eth0=*"));
  EXPECT_EQ(request.owner, (Owner{"1", "tenant", "pod", "node1"}));
  EXPECT_THAT(request.interfaces[0].addresses, IsEmpty());
  EXPECT_FALSE(request.interfaces[0].mac);
}

TEST_F(PlanRequestTest, WishesOfTheDefaultInterfaceAreItsOwn) {
  const PlanRequest request = RequestOf({{kAddressesAnnotation, "10.0.0.5, fd00::5"},
                                         {kMacAnnotation, "02:00:00:00:00:05"},
                                         {kNetworksAnnotation, "lan"}});

  ASSERT_THAT(request.interfaces, SizeIs(2));
  EXPECT_THAT(request.interfaces[0].addresses, ElementsAre(IpAddress::Parse("10.0.0.5").value(),
                                                           IpAddress::Parse("fd00::5").value()));
  EXPECT_EQ(request.interfaces[0].mac, MacAddress::Parse("02:00:00:00:00:05"));
  EXPECT_THAT(request.interfaces[1].addresses, IsEmpty());
  EXPECT_FALSE(request.interfaces[1].mac);
}

TEST_F(PlanRequestTest, SecurityGroupsAreThoseOfAllInterfaces) {
  const std::string group = "9ebc225a-aa2a-44fa-9a71-0a1e1e0c9adf";

  const PlanRequest request =
      RequestOf({{kSecurityGroupsAnnotation, group}, {kNetworksAnnotation, "lan"}});

  ASSERT_THAT(request.interfaces, SizeIs(2));
  for (const InterfaceRequest& interface : request.interfaces)
    EXPECT_THAT(interface.security_groups, ElementsAre(group)) << interface.ifname;
}

TEST_F(PlanRequestTest, MalformedWishesAreRefusedByAnnotation) {
  EXPECT_THAT(Refusal({{kAddressesAnnotation, "10.0.0.5,"}}), HasSubstr(kAddressesAnnotation));
  EXPECT_THAT(Refusal({{kMacAnnotation, "01:00:5e:00:00:01"}}), HasSubstr(kMacAnnotation));
  EXPECT_THAT(Refusal({{kNetworksAnnotation, "lan@eth0"}}), HasSubstr(kNetworksAnnotation));
  EXPECT_THAT(Refusal({{kSecurityGroupsAnnotation, "web"}}), HasSubstr(kSecurityGroupsAnnotation));
}

TEST_F(PlanRequestTest, EachSelectionIsAnInterfaceInItsNetwork) {
  EXPECT_THAT(Summary(RequestWith("lan,infra/storage@san")),
              ElementsAre("eth0=*", "net1=lan-pool", "san=storage-pool"));
}

/// The pool decides by the pod's namespace, whichever namespace's definition names it.
TEST_F(PlanRequestTest, DefinitionOfAnotherNamespaceLeavesTheOwnerInItsOwn) {
  EXPECT_EQ(RequestWith("infra/storage").owner.scope, "tenant");
}

TEST_F(PlanRequestTest, SelectionsWishesGoIntoItsInterface) {
  const PlanRequest request = RequestWith(
      R"([{"name":"lan","interface":"lan0","ips":["10.1.0.5/24"],"mac":"02:00:00:00:00:06"}])");

  ASSERT_THAT(Summary(request), ElementsAre("eth0=*", "lan0=lan-pool"));
  EXPECT_THAT(request.interfaces[1].addresses, ElementsAre(IpAddress::Parse("10.1.0.5").value()));
  EXPECT_EQ(request.interfaces[1].mac, MacAddress::Parse("02:00:00:00:00:06"));
  EXPECT_THAT(request.interfaces[0].addresses, IsEmpty());
}

TEST_F(PlanRequestTest, DefaultRouteMakesItsInterfaceTheDefaultOne) {
  EXPECT_THAT(
      Summary(RequestWith(
          R"([{"name":"lan"},{"name":"storage","namespace":"infra","default-route":["10.2.0.1"]}])")),
      ElementsAre("eth0=", "net1=lan-pool", "net2=storage-pool*"));
}

TEST_F(PlanRequestTest, SelectionsOfOtherPluginsArePassedOverAndKeepTheirNumbers) {
  EXPECT_THAT(Summary(RequestWith("bridge,lan")), ElementsAre("eth0=*", "net2=lan-pool"));
  EXPECT_THAT(Summary(RequestWith(R"([{"name":"bridge","default-route":["10.2.0.1"]}])")),
              ElementsAre("eth0=*"));
}

TEST_F(PlanRequestTest, DefinitionThatIsNotThereIsGoneAndThePodIsWokenByIt) {
  std::vector<std::string> woken;
  NetworkAttachments attachments(
      {.wake = [&](const Key& key) { woken.push_back(key.ToString()); }});
  const PodFacts pod = {.name_space = "tenant", .name = "pod", .networks = "lan"};
  try {
    (void)PlanRequestOf(pod, {}, attachments, claims_);
    FAIL() << "planned";
  } catch (const PlanError& e) {
    EXPECT_EQ(e.kind(), PlanError::Kind::kGone);
    EXPECT_THAT(e.what(), HasSubstr("no NetworkAttachmentDefinition tenant/lan"));
  }

  attachments.Handle(watcher::MakeEvent(
      watcher::EventType::kAdded, {{"kind", "NetworkAttachmentDefinition"},
                                   {"metadata", {{"namespace", "tenant"}, {"name", "lan"}}}}));

  EXPECT_THAT(woken, ElementsAre("tenant/pod"));
}

TEST_F(PlanRequestTest, ClaimsGiveTheirInterfacesWhatTheyHave) {
  Claim("vm", {"10.0.0.5/24", "fd00::5/64"});
  Claim("vm.lan", json::array());

  const PlanRequest request =
      RequestOf({{kClaimAnnotation, "vm"},
                 {kNetworksAnnotation, R"([{"name":"lan","ipam-claim-reference":"vm.lan"}])"}});

  EXPECT_EQ(request.interfaces[0].claim, (Owner{.id = "uid-vm", .scope = "tenant", .name = "vm"}));
  EXPECT_THAT(request.interfaces[0].addresses, ElementsAre(IpAddress::Parse("10.0.0.5").value(),
                                                           IpAddress::Parse("fd00::5").value()));
  EXPECT_EQ(request.interfaces[1].claim.value().name, "vm.lan");
  EXPECT_THAT(request.interfaces[1].addresses, IsEmpty());
}

TEST_F(PlanRequestTest, PodNameStandsInTheNamesOfClaims) {
  Claim("pod.lan", json::array());

  EXPECT_EQ(RequestOf({{kClaimAnnotation, " $(POD_NAME).lan\n"}}).interfaces[0].claim.value().name,
            "pod.lan");
}

TEST_F(PlanRequestTest, ClaimsThatContradictAreRefused) {
  Claim("vm", {"10.0.0.5/24"});
  const auto with = [](const std::string& addresses) {
    return json{{kClaimAnnotation, "vm"}, {kAddressesAnnotation, addresses}};
  };

  EXPECT_EQ(Refusal(with("10.0.0.5")), "");
  EXPECT_THAT(Refusal(with("10.0.0.6")), HasSubstr("other addresses than interface eth0"));
  EXPECT_THAT(Refusal({{kClaimAnnotation, "vm"},
                       {kNetworksAnnotation, R"([{"name":"lan","ipam-claim-reference":"vm"}])"}}),
              HasSubstr("IPAMClaim vm is named by two interfaces"));
  for (const char* name : {"other/vm", "Vm", "$(POD_NAME", "$(POD_NAME)$(POD_NAME)", "../vm"})
    EXPECT_THAT(Refusal({{kClaimAnnotation, name}}), HasSubstr("names no IPAMClaim")) << name;
}

TEST_F(PlanRequestTest, LongAnnotationIsCutAndRefused) {
  EXPECT_THAT(Refusal({{kNetworksAnnotation, std::string(200'000, 'a')}}),
              HasSubstr("longer than 65536"));
}

TEST_F(PlanRequestTest, FactsKeepNoMoreOfTheAnnotationThanSaysThatItIsTooLong) {
  const auto pod = watcher::MakeEvent(
      watcher::EventType::kAdded,
      {{"kind", "Pod"},
       {"metadata", {{"annotations", {{kNetworksAnnotation, std::string(200'000, 'a')}}}}}});

  EXPECT_EQ(PodFactsOf(pod, {}).networks.size(), kMostNetworksText + 1);
}

}  // namespace
}  // namespace kuryr::controller
