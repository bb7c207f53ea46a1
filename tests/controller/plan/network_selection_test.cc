#include "controller/plan/network_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "controller/backends/backend.h"

namespace kuryr::controller {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<NetworkSelection> Parse(const std::string& text) {
  return ParseNetworkSelections(text, "my-namespace");
}

/// Why the text is refused; empty when it is not.
std::string Refusal(const std::string& text) {
  try {
    (void)Parse(text);
    return "";
  } catch (const PlanError& e) {
    EXPECT_EQ(e.kind(), PlanError::Kind::kRefused);
    EXPECT_THAT(e.what(), HasSubstr("annotation k8s.v1.cni.cncf.io/networks"));
    return e.what();
  }
}

std::string Repeated(const std::string& text, size_t count, const std::string& between) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += (i == 0 ? "" : between) + text;
  return all;
}

NetworkSelection Selection(const std::string& name_space, const std::string& name,
                           const std::string& ifname) {
  return {.name_space = name_space, .name = name, .ifname = ifname};
}

// 4.1.1
TEST(NetworkSelectionTest, ListNamesDefinitionsOfThePodsOrAnotherNamespace) {
  EXPECT_THAT(Parse("net-a,net-b,other-ns/net-c"),
              ElementsAre(Selection("my-namespace", "net-a", "net1"),
                          Selection("my-namespace", "net-b", "net2"),
                          Selection("other-ns", "net-c", "net3")));
}

TEST(NetworkSelectionTest, ListNamesInterfaces) {
  EXPECT_THAT(Parse("net-a@lan,other-ns/net-b@vlan.100"),
              ElementsAre(Selection("my-namespace", "net-a", "lan"),
                          Selection("other-ns", "net-b", "vlan.100")));
}

TEST(NetworkSelectionTest, ListMayHaveBlanksAndALineEnd) {
  EXPECT_THAT(Parse(" net-a ,\tother-ns / net-b @ lan\n"),
              ElementsAre(Selection("my-namespace", "net-a", "net1"),
                          Selection("other-ns", "net-b", "lan")));
}

TEST(NetworkSelectionTest, InterfacesAreNumberedByPosition) {
  EXPECT_THAT(Parse("net-a@lan,net-b"), ElementsAre(Selection("my-namespace", "net-a", "lan"),
                                                    Selection("my-namespace", "net-b", "net2")));
}

// 4.2
TEST(NetworkSelectionTest, OneNetworkTwiceIsTwoInterfaces) {
  EXPECT_THAT(Parse("net-a,net-a"), ElementsAre(Selection("my-namespace", "net-a", "net1"),
                                                Selection("my-namespace", "net-a", "net2")));
}

// 4.1.2
TEST(NetworkSelectionTest, JsonHasAddressesAndMac) {
  NetworkSelection net_b = Selection("my-namespace", "net-b", "net2");
  net_b.addresses = {IpAddress::Parse("1.2.3.4").value()};
  net_b.mac = MacAddress::Parse("aa:bb:cc:dd:ee:ff");

  EXPECT_THAT(Parse(R"([
    {"name":"net-a"},
    {"name":"net-b", "ips": ["1.2.3.4"], "mac": "aa:bb:cc:dd:ee:ff"},
    {"name":"net-c", "namespace":"other-ns"}
  ]
)"),
              ElementsAre(Selection("my-namespace", "net-a", "net1"), net_b,
                          Selection("other-ns", "net-c", "net3")));
}

// 4.1.2.1.3.1
TEST(NetworkSelectionTest, JsonAddressesAreOfBothFamiliesWithOrWithoutLength) {
  const auto selections =
      Parse(R"([{"name":"net-b","ips":["10.2.2.42","2001:db8::5","10.2.3.42/24"]}])");

  ASSERT_THAT(selections, SizeIs(1));
  EXPECT_THAT(selections[0].addresses, ElementsAre(IpAddress::Parse("10.2.2.42").value(),
                                                   IpAddress::Parse("2001:db8::5").value(),
                                                   IpAddress::Parse("10.2.3.42").value()));
}

TEST(NetworkSelectionTest, JsonNamesTheInterface) {
  EXPECT_THAT(Parse(R"([{"name":"net-a","interface":"lan"}])"),
              ElementsAre(Selection("my-namespace", "net-a", "lan")));
}

TEST(NetworkSelectionTest, JsonNamesAClaim) {
  EXPECT_EQ(Parse(R"([{"name":"net-a","ipam-claim-reference":"vm-a.net-a"}])").at(0).claim,
            "vm-a.net-a");
}

// 4.1.2.1.9 of version 1.2: the list may be empty
TEST(NetworkSelectionTest, DefaultRouteLeadsThroughTheEntryThatHasIt) {
  const auto selections = Parse(
      R"([{"name":"a"},{"name":"b","default-route":["10.0.0.1"]},{"name":"c","default-route":null}])");
  const auto empty = Parse(R"([{"name":"a","default-route":[]}])");

  ASSERT_THAT(selections, SizeIs(3));
  EXPECT_FALSE(selections[0].has_default_route);
  EXPECT_TRUE(selections[1].has_default_route);
  EXPECT_FALSE(selections[2].has_default_route);
  ASSERT_THAT(empty, SizeIs(1));
  EXPECT_TRUE(empty[0].has_default_route);
}

TEST(NetworkSelectionTest, OtherKeysAndWhatIsEmptyOrNullDoNotCount) {
  EXPECT_THAT(Parse(R"([{"name":"net-a","namespace":"","interface":null,"mac":"","ips":null,
                         "cni-args":{"foo":[1]},"org.foo.bar":7,"bandwidth":{"ingressRate":1}}])"),
              ElementsAre(Selection("my-namespace", "net-a", "net1")));
}

TEST(NetworkSelectionTest, NothingSelectsNothing) {
  EXPECT_THAT(Parse(""), IsEmpty());
  EXPECT_THAT(Parse(" \n"), IsEmpty());
  EXPECT_THAT(Parse("[]"), IsEmpty());
}

TEST(NetworkSelectionTest, SixteenNetworksAreTheMost) {
  EXPECT_THAT(Parse(Repeated("a", 16, ",")), SizeIs(16));
  EXPECT_THAT(Refusal(Repeated("a", 17, ",")), HasSubstr("17 entries; expected at most 16"));
  EXPECT_THAT(Refusal("[" + Repeated(R"({"name":"a"})", 17, ",") + "]"),
              HasSubstr("17 entries; expected at most 16"));
}

TEST(NetworkSelectionTest, SixteenAddressesAreTheMost) {
  const auto text = [](size_t count) {
    return R"([{"name":"a","ips":[)" + Repeated(R"("10.0.0.1")", count, ",") + "]}]";
  };

  EXPECT_EQ(Refusal(text(16)), "");
  EXPECT_THAT(Refusal(text(17)), HasSubstr("entry 1: ips is no list of up to 16 IP addresses"));
}

TEST(NetworkSelectionTest, LongTextsAreRefused) {
  EXPECT_EQ(Refusal(std::string(kMostNetworksText - 1, ' ') + "a"), "");
  EXPECT_THAT(Refusal(std::string(kMostNetworksText, ' ') + "a"), HasSubstr("longer than 65536"));
}

struct Bad {
  std::string text;
  std::string entry;
  std::string reason;
};

TEST(NetworkSelectionTest, BadListsAreRefusedByEntryAndField) {
  const std::vector<Bad> all = {
      {"net-a,", "entry 2", "name is \"\""},
      {",net-a", "entry 1", "name is \"\""},
      {"/", "entry 1", "name is \"\""},
      {"@", "entry 1", "name is \"\""},
      {"net-a,Net-B", "entry 2", "name is \"Net-B\"; expected letters in lower case"},
      {"net-a,-b", "entry 2", "name is \"-b\""},
      {"a/b/c", "entry 1", "name is \"b/c\""},
      {"A/b", "entry 1", "namespace is \"A\""},
      {"a@b/c", "entry 1", "namespace is \"a@b\""},
      {"a@b@c", "entry 1", "name is \"a@b\""},
      {"../../api/v1/secrets", "entry 1", "name is"},
      {std::string(254, 'a'), "entry 1", "name is \"aaa"},
      {"a@eth0", "entry 1", "interface is \"eth0\""},
      {"a@lo", "entry 1", "interface is \"lo\""},
      {"a@all", "entry 1", "interface is \"all\""},
      {"a@default", "entry 1", "interface is \"default\""},
      {"a@net%d", "entry 1", "interface is \"net%d\""},
      {"a@..", "entry 1", "interface is \"..\""},
      {"a@x:y", "entry 1", "interface is \"x:y\""},
      {"a@x y", "entry 1", "interface is \"x y\""},
      {"a@sixteen-letters-", "entry 1", "interface is \"sixteen-letters-\""},
      {"a@x\x1b[2J", "", "no JSON"},
      {"a@x\x01", "entry 1", R"(interface is "x\x01")"},
      {"a@lan,b@lan", "entry 2", "interface \"lan\" is an earlier entry's already"},
      {"a@net2,b", "entry 2", "interface \"net2\" is an earlier entry's already"},
  };
  for (const Bad& bad : all)
    EXPECT_THAT(Refusal(bad.text), AllOf(HasSubstr(bad.entry), HasSubstr(bad.reason)));
}

TEST(NetworkSelectionTest, BadJsonIsRefusedByEntryAndField) {
  const std::vector<Bad> all = {
      {"[", "", "no JSON at byte"},
      {R"({"name":"a"})", "", "no JSON list; expected"},
      {R"("a")", "", "no JSON list; expected"},
      {R"([{"name":"a","name":"b"}])", "", "stands twice"},
      {Repeated("[", 65, ""), "", "nested deeper"},
      {R"(["a"])", "entry 1", "it is no object"},
      {R"([{"name":"a"},null])", "entry 2", "it is no object"},
      {R"([{}])", "entry 1", "name is \"\""},
      {R"([{"name":7}])", "entry 1", "name is no string"},
      {R"([{"name":"a","namespace":["b"]}])", "entry 1", "namespace is no string"},
      {R"([{"name":"a","namespace":"b/c"}])", "entry 1", "namespace is \"b/c\""},
      {R"([{"name":"a","interface":"eth0"}])", "entry 1", "interface is \"eth0\""},
      {R"([{"name":"a","interface":7}])", "entry 1", "interface is no string"},
      {R"([{"name":"a","interface":"x\u0000"}])", "entry 1", R"(interface is "x\x00")"},
      {R"([{"name":"a","ips":"10.0.0.1"}])", "entry 1", "ips is no list"},
      {R"([{"name":"a","ips":[]}])", "entry 1", "ips is empty"},
      {R"([{"name":"a","ips":[7]}])", "entry 1", "ips holds something else than strings"},
      {R"([{"name":"a","ips":["10.0.0.256"]}])", "entry 1", "ips is \"10.0.0.256\""},
      {R"([{"name":"a","ips":["10.0.0.1/33"]}])", "entry 1", "ips is \"10.0.0.1/33\""},
      {R"([{"name":"a","mac":"aa:bb"}])", "entry 1", "mac is \"aa:bb\""},
      {R"([{"name":"a","mac":"01:00:5e:00:00:01"}])", "entry 1", "mac is \"01:00:5e:00:00:01\""},
      {R"([{"name":"a","mac":"ff:ff:ff:ff:ff:ff"}])", "entry 1",
       "the MAC address of one interface"},
      {R"([{"name":"a","mac":"00:00:00:00:00:00"}])", "entry 1",
       "the MAC address of one interface"},
      {R"([{"name":"a","mac":7}])", "entry 1", "mac is no string"},
      {R"([{"name":"a","ipam-claim-reference":["b"]}])", "entry 1",
       "ipam-claim-reference is no string"},
      {R"([{"name":"a","default-route":"10.0.0.1"}])", "entry 1", "default-route is no list"},
      {R"([{"name":"a","default-route":["x"]}])", "entry 1", "default-route is \"x\""},
      {R"([{"name":"a","default-route":[]},{"name":"b","default-route":[]}])", "entry 2",
       "default-route is an earlier entry's already"},
  };
  for (const Bad& bad : all)
    EXPECT_THAT(Refusal(bad.text), AllOf(HasSubstr(bad.entry), HasSubstr(bad.reason)));
}

}  // namespace
}  // namespace kuryr::controller
