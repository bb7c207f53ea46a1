#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <thread>

#include "controller/election/leader_election.h"
#include "tests/controller/election/candidate.h"
#include "tests/fake_apiserver/fake_api_server.h"

namespace kuryr::controller {
namespace {

using namespace std::chrono_literals;
using fake::FakeApiServer;
using fake::Fault;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

/// Uses an API server that fails in ways that a real one does not on request.
class LeaderElectionFaultTest : public ::testing::Test {
 protected:
  void Inject(Fault::Kind kind, const std::string& verb, int count = -1) {
    server_.Inject({.kind = kind, .verb = verb, .path_prefix = kLeases, .count = count});
  }
  void Refuse(int code, const std::string& verb, int count) {
    Fault fault = Fault::Status(code, "no");
    fault.verb = verb;
    fault.path_prefix = kLeases;
    fault.count = count;
    server_.Inject(fault);
  }
  [[nodiscard]] bool HearsOf(const std::string& verb, size_t count) {
    return server_.WaitForRequest(verb, kLeases, count);
  }
  [[nodiscard]] std::string Holder() {
    return server_.Get("leases", "kube-system", "kuryr-controller")
        ->at("spec")
        .at("holderIdentity");
  }

  FakeApiServer server_{{.tls = fake::TestTls(),
                         .users = {{.name = "kuryr", .token = "secret"}},
                         .custom_resources = {{.group = "coordination.k8s.io",
                                               .version = "v1",
                                               .plural = "leases",
                                               .kind = "Lease"}}}};
  const watcher::ApiConfig api_ = {.api_root = server_.url(),
                                   .ca = {.file = FakeApiServer::ca_file()},
                                   .token = {.value = "secret"}};
};

TEST_F(LeaderElectionFaultTest, AConflictIsALostRaceAndNoProblem) {
  server_.Create(LeaseWith({{"holderIdentity", ""}}));
  Refuse(409, "patch", -1);
  Candidate candidate(api_, Patient("a"));
  ASSERT_TRUE(HearsOf("patch", 3));

  EXPECT_EQ(candidate.election().problem(), std::nullopt);
  EXPECT_FALSE(candidate.election().MayWrite());
  server_.ClearFaults();

  EXPECT_TRUE(candidate.BeginsTerm(1));
}

TEST_F(LeaderElectionFaultTest, ALeaderOutlivesFailuresThatPass) {
  Candidate leader(api_, Patient("leader"));
  ASSERT_TRUE(leader.BeginsTerm(1));

  for (const int code : {500, 503, 429, 401, 409, 404}) Refuse(code, "patch", 2);
  Inject(Fault::Kind::kDrop, "patch", 2);
  ASSERT_TRUE(HearsOf("patch", 20));

  EXPECT_TRUE(leader.election().MayWrite());
  EXPECT_EQ(Holder(), "leader");
  leader.Stop();
  EXPECT_EQ(Holder(), "");
}

TEST_F(LeaderElectionFaultTest, ALeaderThatIsNotAnsweredIsNoneAfterItsDeadline) {
  Candidate leader(api_, Hasty("leader"));
  ASSERT_TRUE(leader.BeginsTerm(1));

  Inject(Fault::Kind::kSilence, "");
  ASSERT_TRUE(leader.EndsTerm(1));
  EXPECT_FALSE(leader.election().MayWrite());
  EXPECT_NE(leader.election().problem(), std::nullopt);
  server_.ClearFaults();

  EXPECT_TRUE(leader.BeginsTerm(2));
}

TEST_F(LeaderElectionFaultTest, ALeaderThatCannotConnectIsNoneAfterItsDeadline) {
  Candidate leader(api_, Hasty("leader"));
  ASSERT_TRUE(leader.BeginsTerm(1));

  server_.StopListening();
  ASSERT_TRUE(leader.EndsTerm(1));
  EXPECT_FALSE(leader.election().MayWrite());
  server_.StartListening();

  EXPECT_TRUE(leader.BeginsTerm(2));
}

TEST_F(LeaderElectionFaultTest, MissingRightsAreToldWithTheirFixAndTriedAgain) {
  server_.SetUsers({{.name = "kuryr", .token = "secret", .verbs = {"get:pods"}}});
  Candidate candidate(api_, Patient("a"));
  ASSERT_TRUE(HearsOf("get", 2));

  EXPECT_THAT(candidate.election().problem(),
              Optional(AllOf(HasSubstr("cannot get resource \"leases\""),
                             HasSubstr("let this user get, create and patch "
                                       "leases.coordination.k8s.io in namespace kube-system"),
                             HasSubstr("leader_elect = false"))));
  server_.SetUsers({{.name = "kuryr", .token = "secret", .verbs = {"get", "create"}}});

  EXPECT_TRUE(candidate.BeginsTerm(1));
  ASSERT_TRUE(HearsOf("patch", 2));
  EXPECT_THAT(candidate.election().problem(), Optional(HasSubstr("cannot patch resource")));
}

TEST_F(LeaderElectionFaultTest, GarbageNeitherKeepsALeaseNorEndsTheElection) {
  for (const char* spec :
       {"null", "[]", R"("spec")", R"({"holderIdentity": ["us"], "renewTime": "yesterday"})",
        R"({"holderIdentity": "gone", "renewTime": 7, "acquireTime": {}, "leaseTransitions": 1e99,
            "leaseDurationSeconds": 18446744073709551615})"}) {
    server_.Create(LeaseWith(json::parse(spec)));
    LeaderElection election(api_, Hasty("taker"));

    EXPECT_TRUE(election.Acquire({})) << spec;

    EXPECT_EQ(Holder(), "taker") << spec;
    server_.Delete("leases", "kube-system", "kuryr-controller");
  }
}

TEST_F(LeaderElectionFaultTest, AnAnswerThatIsNoLeaseIsAProblem) {
  Inject(Fault::Kind::kAnswer, "get");
  Candidate candidate(api_, Patient("a"));

  ASSERT_TRUE(HearsOf("get", 2));

  EXPECT_NE(candidate.election().problem(), std::nullopt);
  EXPECT_FALSE(candidate.election().MayWrite());
}

/// The holder of a deleted Lease may write for some time yet.
TEST_F(LeaderElectionFaultTest, ALeaseThatVanishesCountsAsHeld) {
  server_.Create(LeaseWith({{"holderIdentity", "holder"}}));
  Candidate candidate(api_, Patient("a"));
  ASSERT_TRUE(HearsOf("get", 2));

  server_.Delete("leases", "kube-system", "kuryr-controller");
  const size_t before = server_.Requests().size();
  ASSERT_TRUE(HearsOf("get", before + 3));

  EXPECT_EQ(candidate.election().leader(), "holder");
  EXPECT_FALSE(server_.WaitForRequest("create", kLeases, 1, 0ms));
}

TEST_F(LeaderElectionFaultTest, AVanishedLeaseIsMadeAgainAfterItsDuration) {
  server_.Create(LeaseWith({{"holderIdentity", "gone"}}));
  Candidate candidate(api_, Hasty("a"));
  ASSERT_TRUE(HearsOf("get", 2));

  server_.Delete("leases", "kube-system", "kuryr-controller");

  EXPECT_TRUE(candidate.BeginsTerm(1));
  EXPECT_EQ(Holder(), "a");
}

TEST_F(LeaderElectionFaultTest, StopEndsARequestThatIsNotAnswered) {
  Inject(Fault::Kind::kSilence, "get");
  std::stop_source stop;
  LeaderElection election(api_, Patient("a"));
  std::jthread stopper([&] {
    EXPECT_TRUE(HearsOf("get", 1));
    stop.request_stop();
  });

  EXPECT_FALSE(election.Acquire(stop.get_token()));

  EXPECT_EQ(election.problem(), std::nullopt);
}

TEST_F(LeaderElectionFaultTest, WhoNeverLedReleasesNothing) {
  server_.Create(LeaseWith({{"holderIdentity", "a"}}));
  LeaderElection election(api_, Patient("a"));

  election.Release();

  EXPECT_EQ(Holder(), "a");
  EXPECT_TRUE(server_.Requests().empty());
}

/// The candidate's first answer was lost, so it does not know that it holds the Lease.
TEST_F(LeaderElectionFaultTest, AStoppedCandidateReleasesWhatItMayHaveGot) {
  server_.Create(LeaseWith({{"holderIdentity", ""}}));
  Inject(Fault::Kind::kSilence, "patch");
  std::stop_source stop;
  LeaderElection election(api_, Patient("a"));
  std::jthread stopper([&] {
    EXPECT_TRUE(HearsOf("patch", 1));
    stop.request_stop();
  });
  EXPECT_FALSE(election.Acquire(stop.get_token()));
  server_.ClearFaults();
  server_.Patch("leases", "kube-system", "kuryr-controller", {{"spec", {{"holderIdentity", "a"}}}});

  election.Release();

  EXPECT_EQ(Holder(), "");
}

TEST(LeaderIdentityTest, IsOfThisHostAndNew) {
  const std::string first = NewIdentity();

  EXPECT_THAT(first, ::testing::MatchesRegex(".+_[0-9a-f-]+"));
  EXPECT_NE(first, NewIdentity());
}

}  // namespace
}  // namespace kuryr::controller
