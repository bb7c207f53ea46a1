#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/vif/random_vif.h"
#include "vif/decode_any.h"
#include "vif/vif.h"

namespace kuryr::vif {
namespace {

class RandomVifTest : public testing::TestWithParam<size_t> {};

TEST_P(RandomVifTest, DecodesToTheValueThatWasEncoded) {
  RandomValues random(20, Dialect::kOurs);
  for (int i = 0; i < 40; ++i) {
    const Vif vif = random.VifOfKind(GetParam());

    const Vif decoded = DecodeVif(EncodeVif(vif));

    ASSERT_EQ(decoded, vif) << EncodeVif(vif);
  }
}

TEST_P(RandomVifTest, EncodesWithoutChangesWhenAskedTo) {
  RandomValues random(21, Dialect::kOurs);
  for (int i = 0; i < 10; ++i) {
    const Vif vif = random.VifOfKind(GetParam());

    const std::string text = EncodeVif(vif, Changes::kOmit).dump();

    EXPECT_EQ(text.find("versioned_object.changes"), std::string::npos);
  }
}

TEST_P(RandomVifTest, ReadableFormIsPrintable) {
  RandomValues random(22, Dialect::kOurs);
  for (int i = 0; i < 10; ++i) {
    const Vif vif = random.VifOfKind(GetParam());

    const std::string text = DecodeToText(EncodeVif(vif).dump());

    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
      return c == '\n' || (c >= 0x20 && c < 0x7f);
    })) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryKind, RandomVifTest,
                         testing::Range(size_t{0}, std::variant_size_v<Vif>),
                         [](const testing::TestParamInfo<size_t>& kind) {
                           RandomValues random(1, Dialect::kOurs);
                           return std::string(ClassName(random.VifOfKind(kind.param)));
                         });

TEST(RandomPodStateTest, DecodesToTheValueThatWasEncoded) {
  RandomValues random(23, Dialect::kOurs);
  for (int i = 0; i < 40; ++i) {
    const auto state = random.Object<PodState>();

    ASSERT_EQ(DecodePodState(EncodePodState(state)), state);
  }
}

TEST(RandomInstanceInfoTest, DecodesToTheValueThatWasEncoded) {
  RandomValues random(24, Dialect::kOurs);
  for (int i = 0; i < 40; ++i) {
    const auto instance = random.Object<InstanceInfo>();

    ASSERT_EQ(DecodeInstanceInfo(EncodeInstanceInfo(instance)), instance);
  }
}

}  // namespace
}  // namespace kuryr::vif
