#include "vif/pod_vifs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/vif/samples.h"

namespace kuryr::vif {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json Primitive(const std::string& id = "450e5c61-dc7c-5f0d-84da-bc7052e8b541") {
  json vif = JsonSample("vif/ovs-native-ipv4-active.json");
  vif["versioned_object.data"]["id"] = id;
  return vif;
}

json PodWith(const std::string& annotation) {
  json pod = JsonSample("pod/annotated-queens.json");
  pod["metadata"]["annotations"][std::string(kVifAnnotation)] = annotation;
  return pod;
}

/// The interface names; "eth0*" for a default one.
std::vector<std::string> Names(const std::vector<PodVif>& vifs) {
  std::vector<std::string> names;
  for (const PodVif& vif : vifs) names.push_back(vif.ifname + (vif.is_default ? "*" : ""));
  return names;
}

std::string RefusalOf(const json& object) {
  try {
    static_cast<void>(VifsOf(object));
    return "accepted";
  } catch (const ParseError& e) {
    return e.what();
  }
}

std::string AnnotationRefusal(const std::string& text) {
  try {
    static_cast<void>(DecodeAnnotation(text));
    return "accepted";
  } catch (const ParseError& e) {
    return e.what();
  }
}

TEST(PodVifsTest, AVifWithoutActiveIsActive) {
  json vif = Primitive();
  json& data = vif["versioned_object.data"];
  const auto is_active = [&] { return IsActive(DecodeAnnotation(vif.dump()).front()); };
  EXPECT_TRUE(is_active());
  data["active"] = false;
  EXPECT_FALSE(is_active());
  data.erase("active");
  EXPECT_TRUE(is_active());
}

TEST(PodVifsTest, SingleVifIsTheDefaultEth0) {
  const auto vifs = VifsOf(JsonSample("pod/annotated-queens.json"));

  ASSERT_TRUE(vifs);
  EXPECT_THAT(Names(*vifs), ElementsAre("eth0*"));
  EXPECT_EQ(EncodeVif((*vifs)[0].vif), JsonSample("annotation/2016-queens-single-vif.min.json"));
}

TEST(PodVifsTest, PodStateGivesTheDefaultVifFirst) {
  const auto vifs = VifsOf(JsonSample("pod/annotated-rocky.json"));
  ASSERT_TRUE(vifs);
  EXPECT_THAT(Names(*vifs), ElementsAre("eth0*"));

  EXPECT_THAT(Names(DecodeAnnotation(ReadSample("annotation/rocky-podstate-additional-vifs.json"))),
              ElementsAre("eth0*", "eth1", "eth2", "eth3"));
}

TEST(PodVifsTest, InterimMapTakesEth0AsDefaultElseTheFirst) {
  const json vif = Primitive();

  EXPECT_THAT(Names(DecodeAnnotation(json{{"aaa", vif}, {"eth0", vif}, {"b", vif}}.dump())),
              ElementsAre("eth0*", "aaa", "b"));
  EXPECT_THAT(Names(DecodeAnnotation(json{{"net2", vif}, {"net1", vif}}.dump())),
              ElementsAre("net1*", "net2"));
}

TEST(PodVifsTest, KuryrPortFlagsItsDefault) {
  EXPECT_THAT(Names(*VifsOf(JsonSample("kuryrport/ovs-active.json"))), ElementsAre("eth0*"));

  json port = JsonSample("kuryrport/ovs-active.json");
  const json vif = Primitive();
  port["status"]["vifs"] = {{"eth0", {{"default", false}, {"vif", vif}}},
                            {"net1", {{"default", true}, {"vif", vif}}},
                            {"a", {{"vif", vif}}}};
  EXPECT_THAT(Names(*VifsOf(port)), ElementsAre("net1*", "a", "eth0"));

  port["status"]["vifs"]["net1"]["default"] = false;
  EXPECT_THAT(Names(*VifsOf(port)), ElementsAre("eth0*", "a", "net1"));
}

TEST(PodVifsTest, ReadsEveryKuryrPortSample) {
  for (const std::string& name : SampleNames("kuryrport")) {
    SCOPED_TRACE(name);
    const auto vifs = VifsOf(JsonSample("kuryrport/" + name + ".json"));
    EXPECT_EQ(vifs.has_value(), name != "empty");
  }
}

TEST(PodVifsTest, ReadsTheInterimSpecVifs) {
  json port = JsonSample("kuryrport/ovs-active.json");
  port["spec"]["vifs"] = port["status"]["vifs"];
  port["status"]["vifs"] = json::object();
  EXPECT_THAT(Names(*VifsOf(port)), ElementsAre("eth0*"));

  port.erase("status");
  EXPECT_THAT(Names(*VifsOf(port)), ElementsAre("eth0*"));

  port["spec"]["vifs"]["eth0"]["vif"] = 3;
  EXPECT_EQ(RefusalOf(port), "$.spec.vifs.eth0.vif: found 3, expected a versioned object");
}

TEST(PodVifsTest, ItemOfAListNeedsNoKind) {
  json port = JsonSample("kuryrport/ovs-active.json");
  json pod = JsonSample("pod/annotated-queens.json");
  port.erase("kind");
  pod.erase("kind");

  EXPECT_TRUE(VifsOf(port).has_value());
  EXPECT_TRUE(VifsOf(pod).has_value());
}

TEST(PodVifsTest, ReadsEveryEventOfTheWatches) {
  for (const char* const name : {"pod/watch-stream-queens.jsonl", "pod/watch-stream-rocky.jsonl"}) {
    std::istringstream stream(ReadSample(name));
    std::vector<std::string> seen;
    for (std::string line; std::getline(stream, line);) {
      const auto vifs = VifsOf(json::parse(line).at("object"));
      seen.emplace_back(!vifs                                          ? "none"
                        : Common((*vifs)[0].vif).active.value_or(true) ? "active"
                                                                       : "inactive");
    }
    EXPECT_THAT(seen, ElementsAre("none", "inactive", "active", "active")) << name;
  }
}

TEST(PodVifsTest, ObjectWithoutVifHasNone) {
  EXPECT_EQ(VifsOf({{"kind", "Pod"}}), std::nullopt);
  EXPECT_EQ(VifsOf({{"kind", "Pod"}, {"metadata", {{"annotations", nullptr}}}}), std::nullopt);
  EXPECT_EQ(VifsOf({{"kind", "KuryrPort"}}), std::nullopt);
  EXPECT_EQ(VifsOf({{"kind", "KuryrPort"}, {"status", {{"vifs", nullptr}}}}), std::nullopt);
  EXPECT_EQ(VifsOf(PodWith("{}")), std::nullopt);
}

TEST(PodVifsTest, PathGoesOnInsideTheAnnotation) {
  json vif = Primitive();
  const json::json_pointer cidr(
      "/versioned_object.data/network/versioned_object.data/subnets/versioned_object.data/objects/"
      "0/"
      "versioned_object.data/cidr");
  vif[cidr] = "10.1.0.0/33";
  const std::string wrong = "found \"10.1.0.0/33\", expected a CIDR (ADDRESS/LENGTH)";
  const std::string annotation = "$.metadata.annotations['openstack.org/kuryr-vif']";

  EXPECT_EQ(RefusalOf(PodWith(vif.dump())), annotation + ".network.subnets[0].cidr: " + wrong);
  EXPECT_EQ(RefusalOf(PodWith(json{{"net-1", vif}}.dump())),
            annotation + "['net-1'].network.subnets[0].cidr: " + wrong);

  json state = JsonSample("annotation/rocky-podstate-additional-vifs.json");
  state["versioned_object.data"]["additional_vifs"]["eth1"] = vif;
  EXPECT_EQ(RefusalOf(PodWith(state.dump())),
            annotation + ".additional_vifs.eth1.network.subnets[0].cidr: " + wrong);

  json port = JsonSample("kuryrport/ovs-active.json");
  port["status"]["vifs"]["eth0"]["vif"] = vif;
  EXPECT_EQ(RefusalOf(port), "$.status.vifs.eth0.vif.network.subnets[0].cidr: " + wrong);
}

TEST(PodVifsTest, RefusesWhatIsNoContainer) {
  EXPECT_THAT(AnnotationRefusal(""), HasSubstr("$: no JSON at byte"));
  EXPECT_THAT(AnnotationRefusal("null"), HasSubstr("$: found null, expected a VIF"));
  EXPECT_THAT(AnnotationRefusal("[]"), HasSubstr("$: found an array, expected a VIF"));
  EXPECT_THAT(AnnotationRefusal(R"({"eth0":3})"), HasSubstr("$.eth0: found 3"));
  EXPECT_THAT(AnnotationRefusal(R"({"eth/0":{}})"), HasSubstr("$: found \"eth/0\", expected an "));
  EXPECT_THAT(AnnotationRefusal(R"({"versioned_object.data":{}})"),
              HasSubstr("$['versioned_object.name']: is missing"));
  EXPECT_THAT(RefusalOf({{"kind", "Node"}}), HasSubstr("$.kind: found \"Node\", expected \"Pod\""));
  EXPECT_THAT(RefusalOf(json::array()), HasSubstr("$: found an array"));
  json pod = PodWith("");
  pod["metadata"]["annotations"][std::string(kVifAnnotation)] = json::object();
  EXPECT_THAT(RefusalOf(pod), HasSubstr("kuryr-vif']: found an object, expected a string"));
}

TEST(PodVifsTest, RefusesPodStatesThatContradictThemselves) {
  json state = JsonSample("annotation/rocky-podstate-additional-vifs.json");
  json& data = state["versioned_object.data"];
  data["additional_vifs"]["eth0"] = Primitive();
  EXPECT_EQ(AnnotationRefusal(state.dump()), "$.additional_vifs.eth0: is the name of default_vif");

  data["additional_vifs"].erase("eth0");
  data["additional_vifs"][""] = Primitive();
  EXPECT_THAT(AnnotationRefusal(state.dump()), HasSubstr("$.additional_vifs: found \"\""));

  data["additional_vifs"].erase("");
  data.erase("default_vif");
  EXPECT_EQ(AnnotationRefusal(state.dump()), "$.default_vif: is missing, expected a VIF");
}

TEST(PodVifsTest, RefusesKuryrPortsThatContradictThemselves) {
  json port = JsonSample("kuryrport/ovs-active.json");
  json& vifs = port["status"]["vifs"];
  vifs["eth1"] = vifs["eth0"];
  EXPECT_THAT(RefusalOf(port), HasSubstr("$.status.vifs.eth1.default: is true, but another"));

  vifs["eth1"]["default"] = "false";
  EXPECT_THAT(RefusalOf(port), HasSubstr("$.status.vifs.eth1.default: found \"false\""));

  vifs["eth1"] = json::object();
  EXPECT_THAT(RefusalOf(port), HasSubstr("$.status.vifs.eth1.vif: is missing"));

  vifs["eth1"] = 1;
  EXPECT_THAT(RefusalOf(port), HasSubstr("$.status.vifs.eth1: found 1"));

  vifs = json::array({1});
  EXPECT_THAT(RefusalOf(port), HasSubstr("$.status.vifs: found an array"));
}

TEST(PodVifsTest, LimitsHoldInsideTheAnnotation) {
  std::string deep = R"({"eth0":)";
  for (int i = 0; i < 64; ++i) deep += '[';
  EXPECT_THAT(RefusalOf(PodWith(deep)), HasSubstr("kuryr-vif'].eth0"));
  EXPECT_THAT(RefusalOf(PodWith(deep)), HasSubstr("nested deeper than 64 levels"));

  const std::string big(kLargestPlan, ' ');
  EXPECT_THAT(AnnotationRefusal(big + "{}"), HasSubstr("at most 262144 are accepted"));

  EXPECT_EQ(AnnotationRefusal(R"({"eth0":{"a":1,"a":2}})"),
            "$.eth0: key \"a\" stands twice in one object");
  EXPECT_THAT(AnnotationRefusal("{\"eth0\":\"\xff\"}"), HasSubstr("UTF-8"));
}

TEST(EncodeAnnotationTest, DecodesToTheSameVifs) {
  for (const std::string& name : SampleNames("annotation")) {
    SCOPED_TRACE(name);
    auto vifs = DecodeAnnotation(ReadSample("annotation/" + name + ".json"));
    const std::string text = EncodeAnnotation(vifs);

    EXPECT_EQ(text.find("versioned_object.changes"), std::string::npos);
    EXPECT_EQ(EncodeAnnotation(DecodeAnnotation(text)), text);
    EXPECT_EQ(Names(DecodeAnnotation(text)), Names(vifs));
  }
}

TEST(EncodeAnnotationTest, EqualsWhatKuryrWrote) {
  const auto text = ReadSample("annotation/rocky-podstate-additional-vifs.min.json");

  EXPECT_EQ(json::parse(EncodeAnnotation(DecodeAnnotation(text))), json::parse(text));
}

}  // namespace
}  // namespace kuryr::vif
