#include "tests/fake_apiserver/selectors.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/fake_apiserver/status.h"

namespace kuryr::fake {
namespace {

const Resource kPodResource = BuiltInResources().front();

nlohmann::json Pod() {
  return {{"metadata", {{"name", "x"}, {"namespace", "ns"}, {"labels", {{"app", "demo"}}}}},
          {"spec", {{"nodeName", "n1"}}}};
}

bool MatchesFields(const std::string& fields) {
  return Selector(kPodResource, fields, "").Matches(Pod());
}
bool MatchesLabels(const std::string& labels) {
  return Selector(kPodResource, "", labels).Matches(Pod());
}

TEST(SelectorTest, FieldsAreComparedByAllThreeOperators) {
  EXPECT_TRUE(MatchesFields(""));
  EXPECT_TRUE(MatchesFields("metadata.name=x"));
  EXPECT_TRUE(MatchesFields("metadata.name==x"));
  EXPECT_FALSE(MatchesFields("metadata.name!=x"));
  EXPECT_TRUE(MatchesFields("metadata.name!=y"));
  EXPECT_FALSE(MatchesFields("spec.nodeName=n2"));
}

TEST(SelectorTest, CommaMeansAnd) {
  EXPECT_TRUE(MatchesFields("spec.nodeName=n1,metadata.namespace=ns"));
  EXPECT_FALSE(MatchesFields("spec.nodeName=n1,metadata.namespace=other"));
  EXPECT_FALSE(MatchesLabels("app=demo,tier"));
}

TEST(SelectorTest, AbsentFieldIsTheEmptyText) {
  EXPECT_TRUE(MatchesFields("status.podIP="));
  EXPECT_TRUE(MatchesFields("status.podIP!=10.0.0.1"));
}

TEST(SelectorTest, LabelsAreComparedAndSought) {
  EXPECT_TRUE(MatchesLabels("app=demo"));
  EXPECT_FALSE(MatchesLabels("app!=demo"));
  EXPECT_TRUE(MatchesLabels("app"));
  EXPECT_FALSE(MatchesLabels("!app"));
  EXPECT_TRUE(MatchesLabels("!tier"));
  EXPECT_TRUE(MatchesLabels("tier!=back"));
  EXPECT_TRUE(MatchesLabels("app in (test, demo),app notin (prod)"));
}

TEST(SelectorTest, UnknownFieldsAndMalformedTermsAreRefused) {
  EXPECT_THROW(MatchesFields("spec.bogus=1"), Refusal);
  EXPECT_THROW(MatchesFields("metadata.name"), Refusal);
  EXPECT_THROW(MatchesLabels("a<b"), Refusal);
  EXPECT_THROW(Selector(KuryrPorts(), "spec.nodeName=n1", ""), Refusal);
}

}  // namespace
}  // namespace kuryr::fake
