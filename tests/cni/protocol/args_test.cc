#include "cni/protocol/args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

using ::testing::HasSubstr;

std::string Failure(std::string_view text) {
  try {
    RequirePod(ParseArgs(text).pod);
  } catch (const CniError& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidEnvironment) << text;
    return e.what();
  }
  ADD_FAILURE() << "accepted: " << text;
  return "";
}

TEST(ArgsTest, ADeviceIsKnown) {
  EXPECT_EQ(ParseArgs("deviceID=0000:03:10.1").device_id, "0000:03:10.1");
}

TEST(ArgsTest, ENV_16_OrderAndATrailingSemicolonDoNotMatter) {
  const PodArgs pod = {"default", "a1", "u"};

  for (const char* text : {"K8S_POD_NAMESPACE=default;K8S_POD_NAME=a1;K8S_POD_UID=u",
                           "K8S_POD_UID=u;K8S_POD_NAME=a1;K8S_POD_NAMESPACE=default;"})
    EXPECT_EQ(ParseArgs(text).pod, pod) << text;
  EXPECT_EQ(ParseArgs("").pod, PodArgs());
}

TEST(ArgsTest, ENV_17_APairHasOneEqualsSign) {
  for (const char* bad : {"K8S_POD_NAME", "K8S_POD_NAME=a=b", ";", "IgnoreUnknown=1;;"})
    EXPECT_THAT(Failure(bad), HasSubstr("KEY=VALUE")) << bad;
}

TEST(ArgsTest, ENV_17_UnknownKeysNeedIgnoreUnknown) {
  for (const char* bad : {"=a", "FOO=b", "FOO=b;IgnoreUnknown=0", "IgnoreUnknown=yes;FOO=b"})
    EXPECT_THAT(Failure(bad), HasSubstr("unknown key")) << bad;
  for (const char* good :
       {"K8S_POD_NAME=a;FOO=b;IgnoreUnknown=1", "IgnoreUnknown=true;FOO=b;K8S_POD_NAME=a"})
    EXPECT_EQ(ParseArgs(good).pod.name, "a") << good;
}

TEST(ArgsTest, ENV_18_WhatContainerdSendsIsAccepted) {
  EXPECT_NO_THROW(RequirePod(ParseArgs("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=a1;"
                                       "K8S_POD_INFRA_CONTAINER_ID=c7;K8S_POD_UID=b57463f9-0468")
                                 .pod));
}

TEST(ArgsTest, CAP_03_MacAndIpAreTakenAsPodmanSendsThem) {
  const Args args = ParseArgs("IgnoreUnknown=1;MAC=02:00:00:00:00:01;IP=10.0.0.7");

  EXPECT_EQ(args.mac, "02:00:00:00:00:01");
  EXPECT_EQ(args.ip, "10.0.0.7");
}

TEST(ArgsTest, APodsNameCannotLeaveItsUrl) {
  for (const char* bad : {"../secrets", "a?watch=true", "a b", "A", "a%2f", "", "-a", "a\n"}) {
    const std::string name = std::string(bad).find('=') == std::string::npos ? bad : "a?watch";
    EXPECT_THAT(Failure("K8S_POD_NAMESPACE=default;K8S_POD_NAME=" + name),
                HasSubstr("K8S_POD_NAME="));
    EXPECT_THAT(Failure("K8S_POD_NAME=a;K8S_POD_NAMESPACE=" + name),
                HasSubstr("K8S_POD_NAMESPACE="));
  }
  EXPECT_THAT(Failure("K8S_POD_NAMESPACE=a;K8S_POD_NAME=b;K8S_POD_UID=../x"),
              HasSubstr("K8S_POD_UID=../x"));
}

}  // namespace
}  // namespace kuryr::cni
