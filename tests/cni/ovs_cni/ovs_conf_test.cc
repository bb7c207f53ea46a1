#include "cni/ovs_cni/ovs_conf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class OvsConfTest : public ::testing::Test {
 protected:
  OvsConfTest() {
    std::string pattern = ::testing::TempDir() + "kuryr-ovs-conf-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~OvsConfTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string File() const { return folder_ / "ovs.conf"; }
  void Write(const std::string& text) const { std::ofstream(File()) << text; }
  [[nodiscard]] json Merged(json config, const char* command = "ADD") const {
    config["configuration_path"] = File();
    if (!config.contains("type")) config["type"] = "ovs";
    return json::parse(WithOvsConf(config.dump(), command));
  }
  [[nodiscard]] CniError Failure(const char* command = "ADD") const {
    try {
      (void)Merged(json::object(), command);
    } catch (const CniError& e) {
      return e;
    }
    ADD_FAILURE() << "accepted";
    return {ErrorCode::kInternal, "accepted"};
  }

  std::filesystem::path folder_;
};

TEST_F(OvsConfTest, WhatTheConfigurationLeavesOutComesFromOvsConf) {
  Write(R"({"socket_file":"/run/db.sock","mtu":9000,"vlan":7,"trunk":[{"id":1}],"bridge":"br9"})");

  const json merged = Merged({{"bridge", "br1"}, {"mtu", 0}, {"trunk", json::array()}});

  EXPECT_EQ(merged["socket_file"], "/run/db.sock");
  EXPECT_EQ(merged["mtu"], 9000);
  EXPECT_EQ(merged["vlan"], 7);
  EXPECT_EQ(merged["trunk"].size(), 1U);
  EXPECT_EQ(merged["bridge"], "br1");
}

TEST_F(OvsConfTest, FieldsInAnyCaseAreTheSame) {
  Write(R"({"VLAN":7,"MTU":9000})");

  const json merged = Merged({{"Vlan", 8}, {"TYPE", "ovs"}});

  EXPECT_EQ(merged["vlan"], 8);
  EXPECT_EQ(merged["mtu"], 9000);
}

TEST_F(OvsConfTest, VlanZeroIsNotLeftOut) {
  Write(R"({"vlan":7})");

  EXPECT_EQ(Merged({{"vlan", 0}})["vlan"], 0);
}

TEST_F(OvsConfTest, OtherTypesHaveNoOvsConf) {
  Write(R"({"mtu":9000})");

  EXPECT_FALSE(Merged({{"type", "kuryr-cni"}}).contains("mtu"));
  EXPECT_EQ(WithOvsConf("no JSON", "ADD"), "no JSON");
}

TEST_F(OvsConfTest, OneThatIsMissingIsNone) {
  EXPECT_EQ(Merged({{"bridge", "br1"}})["bridge"], "br1");
}

TEST_F(OvsConfTest, OneThatCannotBeReadIsCode7AndNamed) {
  for (const std::string& text : {std::string("{"), std::string("[]"), std::string(2 << 20, ' ')}) {
    Write(text);
    EXPECT_EQ(Failure().code(), ErrorCode::kInvalidConfig);
    EXPECT_THAT(Failure().what(), HasSubstr("ovs.conf"));
  }
}

TEST_F(OvsConfTest, AnErrorTellsNothingOfAFileThatIsNoJson) {
  Write("root:x:0:0");

  EXPECT_EQ(Failure().details(), "no JSON at byte 1");
}

TEST_F(OvsConfTest, APipeDoesNotHoldTheCallUp) {
  ASSERT_EQ(::mkfifo(File().c_str(), 0600), 0);

  EXPECT_THAT(Failure().what(), HasSubstr("no regular file"));
}

TEST_F(OvsConfTest, ADelGoesOnWithoutIt) {
  Write("{");

  EXPECT_EQ(Merged({{"bridge", "br1"}}, "DEL")["bridge"], "br1");
}

}  // namespace
}  // namespace kuryr::cni
