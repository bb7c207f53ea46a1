#include <gtest/gtest.h>

#include "base/error.h"
#include "watcher/api_root.h"

namespace kuryr::watcher {
namespace {

TEST(ApiRootTest, IsTakenApart) {
  const ApiRoot root = ApiRoot::Parse("https://[fd00::1]:6443/k8s/clusters/c1/");

  EXPECT_TRUE(root.tls);
  EXPECT_EQ(root.host, "fd00::1");
  EXPECT_EQ(root.port, 6443);
  EXPECT_EQ(root.prefix, "/k8s/clusters/c1");
}

TEST(ApiRootTest, SchemeGivesThePort) {
  EXPECT_EQ(ApiRoot::Parse("https://api.example").port, 443);
  EXPECT_EQ(ApiRoot::Parse("http://10.0.0.1/").port, 80);
}

TEST(ApiRootTest, WhatIsMalformedIsRefusedWithTheOptionsName) {
  for (const char* text :
       {"", "localhost:6443", "ftp://x", "https://", "https://:6443", "https://x:0",
        "https://x:65536", "https://x:64a", "https://[::1", "https://x:"}) {
    try {
      (void)ApiRoot::Parse(text);
      ADD_FAILURE() << text;
    } catch (const ParseError& e) {
      EXPECT_EQ(e.path(), "[kubernetes] api_root") << text;
    }
  }
}

TEST(ApiRootTest, APasswordInItIsRefusedAndNotRepeated) {
  try {
    (void)ApiRoot::Parse("https://kuryr:secret@10.0.0.1");
    FAIL();
  } catch (const ParseError& e) {
    EXPECT_EQ(std::string(e.what()).find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace kuryr::watcher
