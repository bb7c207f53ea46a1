#include "cni/ovs_cni/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace kuryr::cni {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class OvsCniCacheTest : public ::testing::Test {
 protected:
  OvsCniCacheTest() {
    std::string pattern = ::testing::TempDir() + "kuryr-ovs-cache-XXXXXX";
    parent_ = ::mkdtemp(pattern.data());
  }
  ~OvsCniCacheTest() override { fs::remove_all(parent_); }

  void Put(const std::string& text) const {
    fs::create_directory(folder());
    fs::permissions(folder(), fs::perms::owner_all);
    std::ofstream(folder() / "c1-net1") << text;
    fs::permissions(folder() / "c1-net1", fs::perms::owner_read | fs::perms::owner_write);
  }
  [[nodiscard]] fs::path folder() const { return parent_ / "ovscache"; }
  [[nodiscard]] OvsCniCache Cache() const { return OvsCniCache(folder()); }

  fs::path parent_;
};

/// As ovs-cni writes it.
constexpr const char* kEntry =
    R"({"Netconf":{"cniVersion":"0.4.0","name":"net","type":"ovs","bridge":"br1","vlan":100,"mtu":0,"deviceID":
    "0000:03:10.1","socket_file":"/run/db.sock"},"OrigIfName":"ens1v1","UserspaceMode":false})";

TEST_F(OvsCniCacheTest, AnEntryOfOvsCniIsRead) {
  Put(kEntry);

  const auto entry = Cache().Find("c1", "net1");

  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->ovsdb_connection, "unix:/run/db.sock");
  EXPECT_EQ(entry->device, "0000:03:10.1");
  EXPECT_EQ(entry->link, "ens1v1");
  EXPECT_FALSE(Cache().Find("c1", "net2").has_value());
}

TEST_F(OvsCniCacheTest, WhatIsWrittenIsReadAndGoes) {
  Cache().Write("c1", "net1", {{"bridge", "br1"}, {"deviceID", "0000:03:10.1"}}, "ens1v1");

  const fs::path file = folder() / "c1-net1";
  const json written = json::parse(std::ifstream(file));
  EXPECT_EQ(written["Netconf"]["bridge"], "br1");
  EXPECT_EQ(written["OrigIfName"], "ens1v1");
  EXPECT_EQ(written["UserspaceMode"], false);
  EXPECT_EQ(fs::status(folder()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(Cache().Find("c1", "net1")->device, "0000:03:10.1");

  for (int i = 0; i < 2; ++i) Cache().Remove("c1", "net1");

  EXPECT_FALSE(fs::exists(file));
}

TEST_F(OvsCniCacheTest, AFolderThatOthersMayWriteInIsPassedOver) {
  Put(kEntry);
  fs::permissions(folder(), fs::perms::all);

  EXPECT_FALSE(Cache().Find("c1", "net1").has_value());
  Cache().Write("c2", "net1", {{"bridge", "br1"}}, "");
  EXPECT_FALSE(fs::exists(folder() / "c2-net1"));
}

TEST_F(OvsCniCacheTest, AFileThatOthersMayWriteIsPassedOver) {
  Put(kEntry);
  fs::permissions(folder() / "c1-net1", fs::perms::all);

  EXPECT_FALSE(Cache().Find("c1", "net1").has_value());
}

TEST_F(OvsCniCacheTest, SymbolicLinksAreNotFollowed) {
  Put(kEntry);
  const fs::path other = parent_ / "other";
  fs::create_directory(other);
  fs::permissions(other, fs::perms::owner_all);
  fs::create_symlink(folder() / "c1-net1", other / "c1-net1");
  fs::create_symlink(folder(), parent_ / "link");

  EXPECT_FALSE(OvsCniCache(other).Find("c1", "net1").has_value());
  EXPECT_FALSE(OvsCniCache(parent_ / "link").Find("c1", "net1").has_value());
  OvsCniCache(other).Write("c1", "net1", {{"bridge", "br2"}}, "");
  EXPECT_EQ(Cache().Find("c1", "net1")->link, "ens1v1");
}

TEST_F(OvsCniCacheTest, WhatIsNoEntryIsPassedOver) {
  for (const char* text :
       {"", "{", "[]", "7", R"({"Netconf":7})", R"({"Netconf":{"socket_file":7}})"}) {
    Put(text);
    EXPECT_FALSE(Cache().Find("c1", "net1").has_value()) << text;
  }
}

}  // namespace
}  // namespace kuryr::cni
