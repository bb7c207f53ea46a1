#include "controller/backends/neutron/ports/port_request.h"
#include "tests/controller/backends/neutron/stock/pool_fixture.h"

// Security groups by annotations of pods and namespaces.

namespace kuryr::controller::neutron {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kUsual = "9ebc225a-aa2a-44fa-9a71-0a1e1e0c9adf";
constexpr const char* kListed = "cb51b3a7-14f6-4d8d-9275-875c45b97a89";
constexpr const char* kOther = "c898c6f0-2f35-4615-a747-201c4d8ebc2d";

class SecurityGroupsTest : public PoolTest {
 protected:
  SecurityGroupsTest() {
    defaults_.pool.enabled = false;
    defaults_.security_groups = {kUsual};
    defaults_.more_groups = {kListed};
    Start();
  }

  static PlanRequest With(const std::vector<std::string>& of_namespace,
                          const std::vector<std::string>& of_pod) {
    PlanRequest request = RequestOf(Pod("a"));
    request.scope.security_groups = of_namespace;
    request.interfaces[0].security_groups = of_pod;
    return request;
  }
  std::vector<std::string> GroupsWith(const PlanRequest& request) {
    const Port port = PortAt(IdOf(Reserve(request).at(0)));
    EXPECT_TRUE(Release("uid-a"));
    return port.security_groups;
  }
  std::string RefusalOf(const PlanRequest& request) {
    const Failure failure = Fail(request);
    EXPECT_EQ(failure.kind, Kind::kRefused);
    return failure.text;
  }
};

TEST_F(SecurityGroupsTest, PodNamesWhatKuryrConfLists) {
  EXPECT_THAT(GroupsWith(With({}, {})), ElementsAre(kUsual));
  EXPECT_THAT(GroupsWith(With({}, {kListed})), ElementsAre(kListed));
  EXPECT_THAT(GroupsWith(With({}, {kListed, kUsual})), ElementsAre(kListed, kUsual));
  EXPECT_THAT(RefusalOf(With({}, {kListed, kOther})),
              HasSubstr(std::string(kOther) + "\" is not for this pod: [neutron_defaults] "
                                              "additional_security_groups in kuryr.conf"));
}

TEST_F(SecurityGroupsTest, NamespaceNamesWhatKuryrConfListsForAllItsPods) {
  EXPECT_THAT(GroupsWith(With({kListed}, {})), ElementsAre(kListed));
  EXPECT_THAT(RefusalOf(With({kOther}, {})), HasSubstr("annotation of the namespace names"));
}

TEST_F(SecurityGroupsTest, PodChoosesAmongThoseOfItsNamespaceAlone) {
  EXPECT_THAT(GroupsWith(With({kListed, kUsual}, {kUsual})), ElementsAre(kUsual));
  EXPECT_THAT(RefusalOf(With({kListed}, {kUsual})),
              HasSubstr("the annotation of its namespace does not name it"));
}

TEST_F(SecurityGroupsTest, WithAStarANamespaceMayNameAnyAndAPodStillNot) {
  defaults_.any_group = true;
  defaults_.more_groups.clear();
  Start();

  EXPECT_THAT(GroupsWith(With({kOther}, {})), ElementsAre(kOther));
  EXPECT_THAT(GroupsWith(With({kOther, kUsual}, {kOther})), ElementsAre(kOther));
  (void)RefusalOf(With({}, {kOther}));
  (void)RefusalOf(With({"no-uuid"}, {}));
}

TEST_F(SecurityGroupsTest, EveryInterfaceHasThem) {
  PlanRequest request = RequestOf(Pod("a"), {"net1"});
  request.scope.security_groups = {kListed};

  (void)Reserve(request);

  for (const Port& port : neutron_.ports()) EXPECT_THAT(port.security_groups, ElementsAre(kListed));
}

TEST_F(SecurityGroupsTest, ReadyPortGetsThemWithItsClaimAndLosesThemWithItsReturn) {
  defaults_.pool.enabled = true;
  Start();
  (void)ReserveFirst();

  const Vifs vifs = Reserve(With({}, {kListed}));

  EXPECT_EQ(counts().claims, 1U);
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 1U);
  EXPECT_THAT(PortAt(IdOf(vifs[0])).security_groups, ElementsAre(kListed));
  EXPECT_TRUE(Release("uid-a"));
  EXPECT_THAT(PortAt(IdOf(vifs[0])).security_groups, ElementsAre(kUsual));
  EXPECT_THAT(PortAt(IdOf(Reserve(Pod("b")).at(0))).security_groups, ElementsAre(kUsual));
}

}  // namespace
}  // namespace kuryr::controller::neutron
