#include "devices/ddp_profiles.h"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "base/log.h"
#include "devices/ownership.h"

namespace kuryr::devices {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Device Function(const std::string& id, const std::string& root) {
  return {.id = id,
          .function = vif::PciAddress::Parse(id).value(),
          .root_device = vif::PciAddress::Parse(root).value()};
}

/// Two VFs of a card, one of another, and a card without VFs.
std::vector<Device> Functions() {
  return {Function("0000:03:10.0", "0000:03:00.0"), Function("0000:03:10.1", "0000:03:00.0"),
          Function("0000:05:10.0", "0000:05:00.0"), Function("0000:07:00.0", "0000:07:00.0")};
}

Resource Named(const std::string& name, const Selector& selector) {
  return {.name = name, .selectors = {selector}};
}

class DdpProfilesTest : public ::testing::Test {
 protected:
  Owners OwnersBy(const std::vector<Resource>& resources) {
    std::vector<Device> devices = Functions();
    profiles_.Fill(resources, devices);
    return FindOwners(resources, devices, {});
  }

  std::map<std::string, std::string> cards_ = {{"0000:03:00.0", "GTP"}, {"0000:07:00.0", "L2TPv3"}};
  std::vector<std::string> asked_;
  DdpProfiles profiles_{[this](const std::string& function) {
    asked_.push_back(function);
    const auto card = cards_.find(function);
    return card == cards_.end() ? "" : card->second;
  }};
};

TEST_F(DdpProfilesTest, DeviceMatchesByTheProfileOfItsPhysicalFunction) {
  EXPECT_THAT(
      OwnersBy({Named("gtp", {.ddp_profiles = {"PPPoE", "GTP"}}),
                Named("l2tp", {.ddp_profiles = {"L2TPv3"}})}),
      ElementsAre(Pair("0000:03:10.0", "intel.com/gtp"), Pair("0000:03:10.1", "intel.com/gtp"),
                  Pair("0000:07:00.0", "intel.com/l2tp")));
  EXPECT_THAT(asked_, ElementsAre("0000:03:00.0", "0000:05:00.0", "0000:07:00.0"));
}

TEST_F(DdpProfilesTest, NobodyIsAskedWhereNoSelectorGoesByIt) {
  OwnersBy({Named("all", {}), Named("intel", {.vendors = {"8086"}})});

  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(DdpProfilesTest, CardsWithoutOneAreLoggedUntilTheyHaveOne) {
  const std::vector<Resource> resources = {Named("gtp", {.ddp_profiles = {"GTP"}})};
  const auto said = [&] {
    ::testing::internal::CaptureStderr();
    OwnersBy(resources);
    return ::testing::internal::GetCapturedStderr();
  };

  EXPECT_THAT(said(), HasSubstr("functions=0000:05:00.0"));
  EXPECT_EQ(said(), "") << "it is known";

  cards_.erase("0000:07:00.0");
  EXPECT_THAT(said(), HasSubstr("0000:05:00.0,0000:07:00.0"));
}

}  // namespace
}  // namespace kuryr::devices
