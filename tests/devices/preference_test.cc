#include "devices/preference.h"

#include <gmock/gmock.h>

namespace kuryr::devices {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Device Of(const char* id, uint8_t bus, uint32_t numa_node) {
  return {.id = id, .root_device = {.bus = bus}, .numa_node = numa_node};
}

/// Physical functions 1 (three devices) and 2 (two) on node 0, 3 (one) and 4 (one) on node 1.
std::vector<Device> All() {
  return {Of("1a", 1, 0), Of("1b", 1, 0), Of("1c", 1, 0), Of("2a", 2, 0),
          Of("2b", 2, 0), Of("3a", 3, 1), Of("4a", 4, 1)};
}

std::vector<std::string> Preferred(size_t size, const std::set<std::string>& mandatory = {}) {
  return Prefer({.available = All(), .mandatory = mandatory, .size = size});
}

TEST(PreferenceTest, PhysicalFunctionWithTheFewestThatSufficeIsTaken) {
  EXPECT_THAT(Preferred(1), ElementsAre("3a"));
  EXPECT_THAT(Preferred(2), ElementsAre("2a", "2b"));
  EXPECT_THAT(Preferred(3), ElementsAre("1a", "1b", "1c"));
}

TEST(PreferenceTest, OneNumaNodeIsTakenWhereNoPhysicalFunctionHasEnough) {
  EXPECT_THAT(Preferred(4), ElementsAre("1a", "1b", "1c", "2a"));
  EXPECT_THAT(Prefer({.available = {Of("1a", 1, 0), Of("3a", 3, 1), Of("4a", 4, 1)}, .size = 2}),
              ElementsAre("3a", "4a"));
}

TEST(PreferenceTest, MandatoryOnesComeFirstAndTheirNeighboursNext) {
  EXPECT_THAT(Preferred(2, {"1b"}), ElementsAre("1b", "1a"));
  EXPECT_THAT(Preferred(2, {"3a"}), ElementsAre("3a", "4a"));
}

TEST(PreferenceTest, AsManyAsThereAre) {
  EXPECT_THAT(Preferred(20), SizeIs(7));
  EXPECT_THAT(Preferred(0), IsEmpty());
}

}  // namespace
}  // namespace kuryr::devices
