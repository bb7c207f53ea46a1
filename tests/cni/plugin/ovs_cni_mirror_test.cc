#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "tests/cni/plugin/ovs_cni_fixture.h"
#include "tests/support/frame_capture.h"
#include "tests/support/traffic.h"

namespace kuryr::test {
namespace {

using binding::Netns;
using nlohmann::json;
using ::testing::HasSubstr;

class OvsCniMirrorTest : public OvsCniTest {
 protected:
  static json Mirror(const json& mirror) {
    return {{"cniVersion", "1.0.0"},
            {"bridge", "br1"},
            {"ipam", {{"type", "static"}}},
            {"mirrors", json::array({mirror})}};
  }
  static json Source() { return Mirror({{"name", "m"}, {"ingress", true}, {"egress", true}}); }
  static json Output() {
    json config = Mirror({{"name", "m"}});
    config.erase("ipam");
    return config;
  }
  std::string UuidOf(const std::string& port) { return Get("Port", port, "_uuid"); }
  std::string Of(const std::string& column) { return Get("Mirror", "m", column); }
};

TEST_F(OvsCniMirrorTest, AMirrorIsMadeByItsFirstPortAndGoesWithItsLast) {
  const TestPod source = MakePod("source");
  const TestPod output = MakePod("output");

  const std::string from = Added(source, Source(), "IP=10.10.10.1/24");
  EXPECT_EQ(Of("select_src_port"), "[" + UuidOf(from) + "]");
  EXPECT_EQ(Of("select_dst_port"), "[" + UuidOf(from) + "]");
  EXPECT_EQ(Of("external_ids"), "{owner=ovs-cni.network.kubevirt.io}");
  const std::string to = Added(output, Output());
  EXPECT_EQ(Of("output_port"), UuidOf(to));
  EXPECT_EQ(Get("Bridge", "br1", "mirrors"), "[" + Get("Mirror", "m", "_uuid") + "]");

  ExpectDeleted(source, Source());
  EXPECT_EQ(Of("select_src_port"), "[]");
  for (int i = 0; i < 2; ++i) ExpectDeleted(output, Output());
  ExpectNothingButBridges();
}

TEST_F(OvsCniMirrorTest, TheOutputGetsWhatTheSourceSendsAndReceives) {
  const TestPod source = MakePod("source");
  const TestPod peer = MakePod("peer");
  const TestPod output = MakePod("output");
  Added(source, Source(), "IP=10.10.10.1/24");
  json plain = Source();
  plain.erase("mirrors");
  Added(peer, plain, "IP=10.10.10.2/24");
  Added(output, Output());
  std::optional<FrameCapture> capture;
  {
    const binding::NetnsGuard guard(Netns::Open(output.netns));
    capture.emplace("eth0");
  }

  ExpectTraffic(Netns::Open(source.netns), Netns::Open(peer.netns), "10.10.10.2");

  const std::vector<Frame> frames = capture->Take();
  for (const TestPod& pod : {source, peer}) {
    const std::string mac = LinkIn(pod, "eth0").value("address", "");
    EXPECT_TRUE(std::any_of(frames.begin(), frames.end(), [&](const Frame& frame) {
      return !frame.outgoing && frame.source == *MacAddress::Parse(mac);
    })) << mac;
  }
}

TEST_F(OvsCniMirrorTest, ASecondOutputIsRefusedAndLeavesNothing) {
  const TestPod first = MakePod("first");
  const std::string port = Added(first, Output());

  const json error = Refused(MakePod("second"), Output());

  EXPECT_THAT(error["msg"], HasSubstr("mirror m has another output port"));
  EXPECT_EQ(Of("output_port"), UuidOf(port));
  ExpectDeleted(first, Output());
  ExpectNothingButBridges();
}

TEST_F(OvsCniMirrorTest, AMirrorOfAnotherBridgeIsRefused) {
  ovs_->Vsctl({"--", "--id=@m", "create", "Mirror", "name=m", "--", "set", "Bridge", "mynet0",
               "mirrors=@m"});

  EXPECT_THAT(Refused(MakePod("web"), Source(), "IP=10.10.10.1/24")["msg"],
              HasSubstr("mirror m is of another bridge than br1"));
}

TEST_F(OvsCniMirrorTest, OneThatSomebodyElseMadeStays) {
  const TestPod pod = MakePod("web");
  ovs_->Vsctl(
      {"--", "--id=@m", "create", "Mirror", "name=m", "--", "set", "Bridge", "br1", "mirrors=@m"});
  const std::string uuid = Get("Mirror", "m", "_uuid");

  Added(pod, Source(), "IP=10.10.10.1/24");
  ExpectDeleted(pod, Source());

  EXPECT_EQ(Get("Mirror", "m", "_uuid"), uuid);
  EXPECT_EQ(Of("select_dst_port"), "[]");
}

}  // namespace
}  // namespace kuryr::test
