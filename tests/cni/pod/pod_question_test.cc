#include "cni/pod/pod_question.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kuryr::cni {
namespace {

using nlohmann::json;

constexpr const char* kUid = "8aacc0b5-c775-485a-a8ba-f52e62e71973";
constexpr const char* kOther = "1f0e9ab2-33d7-4a8e-9f0e-0c6a2b1d4e5f";
constexpr const char* kHash = "3c9d1f0a5b7e4d2c8f6a9b0e1d2c3f4a";

json PodWith(const char* uid, json more = json::object()) {
  more["uid"] = uid;
  return {{"metadata", std::move(more)}};
}

TEST(PodQuestionTest, AUidThatTheApiServerDoesNotHaveIsGone) {
  const PodArgs wanted = {"default", "nginx", kUid};

  EXPECT_TRUE(IsGone(wanted, std::nullopt));
  EXPECT_TRUE(IsGone(wanted, PodWith(kOther)));
  EXPECT_FALSE(IsGone(wanted, PodWith(kUid)));
}

TEST(PodQuestionTest, AStaticPodIsNotGoneBeforeItsMirrorIsThere) {
  const PodArgs wanted = {"kube-system", "etcd-node1", kHash};

  EXPECT_FALSE(IsGone(wanted, std::nullopt));
  EXPECT_FALSE(IsGone(wanted, PodWith(kOther)));
}

TEST(PodQuestionTest, WhereAMirrorHasTheNameTheManifestMayHaveTheUid) {
  const PodArgs wanted = {"kube-system", "etcd-node1", kUid};

  const json annotations = {{"kubernetes.io/config.hash", kHash},
                            {"kubernetes.io/config.mirror", kHash}};
  const json node = json::array({json{{"kind", "Node"}}});
  EXPECT_FALSE(
      IsGone(wanted, PodWith(kOther, {{"annotations", annotations}, {"ownerReferences", node}})));
  EXPECT_TRUE(IsGone(wanted, PodWith(kOther, {{"annotations", annotations}})));
  EXPECT_TRUE(IsGone(wanted, PodWith(kOther, {{"ownerReferences", node}})));
  EXPECT_TRUE(IsGone(wanted, PodWith(kOther, {{"ownerReferences", {{{"kind", "ReplicaSet"}}}}})));
}

TEST(PodQuestionTest, WithoutAUidNobodySaysWhichPodIsMeant) {
  EXPECT_FALSE(IsGone({"default", "nginx", ""}, std::nullopt));
}

}  // namespace
}  // namespace kuryr::cni
