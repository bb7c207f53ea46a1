#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/controller/commands/commands_fixture.h"

// kuryr-controller adopt --from podstate

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class MoveCommandTest : public CommandsTest {
 protected:
  ProcessResult Move(const std::string& from = "podstate") {
    Configure("", controller::SinkKind::kKuryrPort);
    return RunCommand("adopt", {"--from", from}, conf_);
  }
};

TEST_F(MoveCommandTest, PlansOfAnnotationsAreWrittenToKuryrPorts) {
  Plan({"a"});
  const json pod = *api().Get("pods", "default", "a");

  const ProcessResult move = Move();

  EXPECT_EQ(move.status, 0) << move.out << move.err;
  EXPECT_EQ(move.out, "moved  pod default/a: " + AddressOn(pod) + "\n1 moved, 0 left\n");
  const json port = *api().Get("kuryrports", "default", "a");
  EXPECT_EQ(AddressOn(port), AddressOn(pod));
  EXPECT_EQ(vif::Common(VifsOn(port).at(0).vif).id, vif::Common(VifsOn(pod).at(0).vif).id);
  EXPECT_EQ(Move().out, "0 moved, 0 left\n");
}

TEST_F(MoveCommandTest, WhatNoControllerWouldGiveIsLeftAndNamed) {
  Plan({"a"});
  const json pod = *api().Get("pods", "default", "a");
  std::string text = pod["metadata"]["annotations"]["openstack.org/kuryr-vif"];
  text.replace(text.find(AddressOn(pod)), AddressOn(pod).size(), "10.8.0.1");
  PatchPod("a", {{"metadata", {{"annotations", {{"openstack.org/kuryr-vif", text}}}}}});

  const ProcessResult move = Move();

  EXPECT_EQ(move.status, 1);
  EXPECT_THAT(move.out, AllOf(HasSubstr("left   pod default/a: address 10.8.0.1 is none that pool"),
                              HasSubstr("0 moved, 1 left\n")));
  EXPECT_FALSE(api().Get("kuryrports", "default", "a"));
}

TEST_F(MoveCommandTest, ItRefusesWhileAControllerLeadsAndElsewhereThanPodstate) {
  EXPECT_THAT(Move("vif").err, HasSubstr("vif not in {podstate}"));
  SetLease("leader-1", 1);
  EXPECT_THAT(Move().err, HasSubstr("leader-1 leads, renewed"));
  Configure("");
  EXPECT_THAT(RunCommand("adopt", {"--from", "podstate"}, conf_).err,
              HasSubstr("vif_sink is not kuryrport"));
}

TEST_F(MoveCommandTest, AdoptWithoutOrWithBothWordsSaysWhatTheyDo) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{}, {"--dry-run", "--from", "podstate"}}) {
    const ProcessResult adopt = RunCommand("adopt", words, conf_);
    EXPECT_EQ(adopt.status, 2);
    EXPECT_THAT(adopt.err, AllOf(HasSubstr("--dry-run        show what a controller takes over"),
                                 HasSubstr("--from podstate  move plans")));
  }
}

}  // namespace
}  // namespace kuryr::test
