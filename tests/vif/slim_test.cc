#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/vif/random_vif.h"
#include "tests/vif/samples.h"
#include "vif/vif.h"

namespace kuryr::vif {
namespace {

using nlohmann::json;

/// Adds unknown members to every versioned object in the value.
void Pad(json& value) {
  if (!value.is_structured()) return;
  for (json& member : value) Pad(member);
  if (!value.is_object() || !value.contains("versioned_object.data")) return;
  value["versioned_object.data"]["of_tomorrow"] = {1, 2, 3};
  value["beside"] = "x";
  value["versioned_object.changes"] = {"id", "of_tomorrow"};
}

class SlimTest : public ::testing::Test {
 protected:
  RandomValues random_{7, Dialect::kOsVif3};
};

TEST_F(SlimTest, OfEveryKindTheFieldsStayAndNothingElse) {
  for (size_t kind = 0; kind < std::variant_size_v<Vif>; ++kind) {
    for (int i = 0; i < 50; ++i) {
      const json fields = EncodeVif(random_.VifOfKind(kind), Changes::kOmit);
      json padded = fields;
      Pad(padded);
      Vif plain = DecodeVif(fields);
      Vif vif = DecodeVif(padded);
      ASSERT_NE(vif, plain);

      EXPECT_EQ(SlimDown(vif), SlimDown(plain));
      EXPECT_EQ(vif, plain);
      EXPECT_EQ(EncodeVif(vif), EncodeVif(DecodeVif(fields), Changes::kOmit));
    }
  }
}

TEST_F(SlimTest, WhatIsOnTheHeapIsCounted) {
  Vif vif = DecodeVif(JsonSample("vif/ovs-native-ipv4-active.json"));
  const size_t before = SlimDown(vif);

  Common(vif).network->label = std::string(10'000, 'x');
  Common(vif).network->subnets->objects->resize(100);
  const size_t after = SlimDown(vif);

  EXPECT_GT(before, sizeof(Subnet));
  EXPECT_LT(before, 4096U);
  EXPECT_GE(after, before + 10'000 + 99 * sizeof(Subnet));
}

}  // namespace
}  // namespace kuryr::vif
