#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

// kuryr-cni decode, on a node with a kuryr.conf of its own.

namespace kuryr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DecodeTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(conf_); }

  [[nodiscard]] std::string Decode(const std::string& sample, const std::string& conf,
                                   std::vector<std::string> options = {}) const {
    std::ofstream(conf_) << conf;
    const std::vector<std::string> program = {test::BinDir() + "/kuryr-cni",
                                              "--config-file=" + conf_, "decode"};
    options.insert(options.begin(), program.begin(), program.end());
    options.push_back(test::TestData() + "/vif-samples/vif/" + sample);
    const ProcessResult result = RunProgram({.argv = std::move(options)});
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  }

  const std::string conf_ = [] {
    std::string name = std::filesystem::temp_directory_path() / "decode-XXXXXX";
    ::close(::mkstemp(name.data()));
    return name;
  }();
};

TEST_F(DecodeTest, NamesTheDriverOfThisNode) {
  EXPECT_THAT(Decode("ovs-native-ipv4-active.json", "[kubernetes]\n"),
              HasSubstr("eth0 on this node: driver ovs, bridge br-int\n"));
}

TEST_F(DecodeTest, SaysWhyThisNodeRefusesAVif) {
  EXPECT_THAT(
      Decode("ovs-native-ipv4-active.json", "[binding]\ndrivers = nested\n"),
      HasSubstr("eth0 on this node: refused: driver \"ovs\" is not among [binding] drivers"));
}

TEST_F(DecodeTest, SaysWhatIsWrongWithKuryrConf) {
  EXPECT_THAT(
      Decode("ovs-native-ipv4-active.json", "[neutron_defaults]\nnetwork_device_mtu = large\n"),
      HasSubstr("this node's kuryr.conf: "));
}

TEST_F(DecodeTest, JsonIsThePlanAlone) {
  EXPECT_THAT(Decode("ovs-native-ipv4-active.json", "[kubernetes]\n", {"--json"}),
              Not(HasSubstr("on this node")));
}

/// Scripts have it from before there was the command.
TEST_F(DecodeTest, TheFormerOptionIsTheCommand) {
  const std::string program = test::BinDir() + "/kuryr-cni";
  const std::string file = test::TestData() + "/vif-samples/vif/ovs-native-ipv4-active.json";
  const std::string wanted = Decode("ovs-native-ipv4-active.json", "[kubernetes]\n", {"--json"});
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--decode", "--json", file},
                                             {"--json", "--decode", file},
                                             {"--json", "--decode=" + file}}) {
    std::vector<std::string> argv = {program, "--config-file=" + conf_};
    argv.insert(argv.end(), words.begin(), words.end());
    EXPECT_EQ(RunProgram({.argv = argv}).out, wanted) << words.front();
  }
}

TEST_F(DecodeTest, YamlIsNamed) {
  std::ofstream(conf_) << "apiVersion: v1\nkind: Pod\n";
  const ProcessResult result =
      RunProgram({.argv = {test::BinDir() + "/kuryr-cni", "decode", conf_}});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("this is YAML: kubectl get -o json prints JSON"));
}

TEST_F(DecodeTest, WithoutAFileItIsMisuse) {
  const ProcessResult result = RunProgram({.argv = {test::BinDir() + "/kuryr-cni", "decode"}});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("FILE is required"));
}

}  // namespace
}  // namespace kuryr::test
