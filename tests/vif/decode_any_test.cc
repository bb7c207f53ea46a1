#include "vif/decode_any.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/vif/samples.h"

namespace kuryr::vif {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

TEST(DecodeToTextTest, ShowsAVifReadably) {
  const std::string text = DecodeToText(ReadSample("vif/ovs-native-ipv4-active.json"));

  EXPECT_EQ(
      text,
      R"(eth0 (default): VIFOpenVSwitch, active, fa:16:3e:80:d4:21, 10.1.0.5/16 via 10.1.0.1, MTU 1450, host interface tap450e5c61-dc, bridge br-int
  VIFOpenVSwitch 1.0
    id: "450e5c61-dc7c-5f0d-84da-bc7052e8b541"
    address: fa:16:3e:80:d4:21
    network: Network 1.1
      id: "f5703a6c-299d-5e80-a783-7c45b151f528"
      bridge: "br-int"
      label: "k8s-pod-net"
      subnets:
        [0]: Subnet 1.0
          cidr: 10.1.0.0/16
          dns: 10.0.0.10 8.8.8.8
          gateway: 10.1.0.1
          ips:
            [0]: FixedIP 1.0
              address: 10.1.0.5
          routes: none
      multi_host: false
      should_provide_bridge: false
      should_provide_vlan: false
      mtu: 1450
    plugin: "ovs"
    active: true
    preserve_on_delete: false
    has_traffic_filtering: true
    port_profile: VIFPortProfileOpenVSwitch 1.3
      interface_id: "450e5c61-dc7c-5f0d-84da-bc7052e8b541"
    vif_name: "tap450e5c61-dc"
    bridge_name: "br-int"
)");
}

TEST(DecodeToTextTest, ShowsEverySample) {
  for (const char* const folder : {"vif", "annotation", "kuryrport", "other"}) {
    for (const std::string& name : SampleNames(folder)) {
      SCOPED_TRACE(name);
      EXPECT_FALSE(DecodeToText(ReadSample(std::string(folder) + "/" + name + ".json")).empty());
    }
  }
}

TEST(DecodeToTextTest, NamesTheObjectAround) {
  EXPECT_THAT(DecodeToText(ReadSample("pod/annotated-queens.json")),
              StartsWith("Pod default/pod-5bb648d658-55n76, pod UID "
                         "683da866-6bb1-4da2-bf6a-a5f4137c38e7, node worker-0\n"
                         "eth0 (default): VIFOpenVSwitch, "));
  EXPECT_THAT(DecodeToText(ReadSample("kuryrport/static-pod.json")),
              HasSubstr("node worker-0, static pod\neth0 (default): "));
  EXPECT_THAT(DecodeToText(ReadSample("kuryrport/deleting.json")), HasSubstr(", being deleted\n"));
  EXPECT_THAT(DecodeToText(ReadSample("kuryrport/empty.json")), HasSubstr("no VIF yet\n"));
  EXPECT_EQ(DecodeToText("{}"), "no VIF yet\n");
}

TEST(DecodeToTextTest, ShowsNullUnknownFieldsAndChanges) {
  EXPECT_THAT(DecodeToText(ReadSample("vif/edge-nullable-fields.json")),
              HasSubstr("    network: null\n"));
  EXPECT_THAT(DecodeToText(ReadSample("vif/edge-unknown-field.json")),
              HasSubstr("    unknown some_future_field: {\"a\":1}\n"));
  EXPECT_THAT(
      DecodeToText(ReadSample("annotation/rocky-podstate-default-only-REAL-inactive.min.json")),
      HasSubstr("changes: cidr dns gateway ips routes\n"));
}

TEST(DecodeToTextTest, ShowsTheAddressesOfOsVif180) {
  EXPECT_THAT(DecodeToText(ReadSample("vif/version-osvif-1.8.0-fixed_ips.json")),
              HasSubstr(", 10.1.0.5/16 via 10.1.0.1, "));
}

TEST(DecodeToTextTest, EscapesHostileText) {
  json vif = JsonSample("vif/ovs-native-ipv4-active.json");
  vif["versioned_object.data"]["plugin"] = "ovs\x1b[2J\nroot: \u202e";

  EXPECT_THAT(DecodeToText(vif.dump()), HasSubstr(R"(plugin: "ovs\x1b[2J\x0aroot: \xe2\x80\xae")"));
}

TEST(DecodeToTextTest, RefusesWithThePath) {
  try {
    static_cast<void>(DecodeToText(R"({"eth0": {"versioned_object.name": 1}})"));
    ADD_FAILURE() << "accepted";
  } catch (const ParseError& e) {
    EXPECT_EQ(e.path(), "$.eth0['versioned_object.name']");
  }
  EXPECT_THROW(static_cast<void>(DecodeToText("3")), ParseError);
  EXPECT_THROW(static_cast<void>(DecodeToText("")), ParseError);
}

TEST(DecodeToJsonTest, OfEveryVifAndAnnotationEqualsTheInput) {
  for (const char* const folder : {"vif", "annotation", "other"}) {
    for (const std::string& name : SampleNames(folder)) {
      SCOPED_TRACE(name);
      const std::string text = ReadSample(std::string(folder) + "/" + name + ".json");
      EXPECT_EQ(json::parse(DecodeToJson(text)), json::parse(text));
    }
  }
}

TEST(DecodeToJsonTest, OfPodsAndKuryrPortsIsTheContainerInside) {
  EXPECT_EQ(json::parse(DecodeToJson(ReadSample("pod/annotated-queens.json"))),
            JsonSample("annotation/2016-queens-single-vif.min.json"));
  EXPECT_EQ(json::parse(DecodeToJson(ReadSample("kuryrport/ovs-active.json"))),
            JsonSample("kuryrport/ovs-active.json").at("status").at("vifs"));
  EXPECT_EQ(DecodeToJson(ReadSample("kuryrport/empty.json")), "null\n");
  EXPECT_EQ(DecodeToJson(R"({"kind":"Pod"})"), "null\n");
}

TEST(DecodeToJsonTest, ItemOfAListNeedsNoKind) {
  json port = JsonSample("kuryrport/ovs-active.json");
  port.erase("kind");

  EXPECT_EQ(json::parse(DecodeToJson(port.dump())), port.at("status").at("vifs"));
  EXPECT_THAT(DecodeToText(port.dump()), StartsWith("KuryrPort default/"));
}

TEST(DecodeToJsonTest, NormalisesValues) {
  json vif = JsonSample("vif/ovs-native-ipv4-active.json");
  const json canonical = vif;
  vif["versioned_object.data"]["address"] = "FA-16-3E-80-D4-21";

  EXPECT_EQ(json::parse(DecodeToJson(vif.dump())), canonical);
}

}  // namespace
}  // namespace kuryr::vif
