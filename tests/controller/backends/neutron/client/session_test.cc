#include "controller/backends/neutron/client/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/controller/backends/neutron/client/cloud_fixture.h"

namespace kuryr::controller::neutron {
namespace {

using Kind = NeutronError::Kind;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

/// A session whose clock the test moves.
class SessionTest : public CloudFixture {
 protected:
  Session& Made(const NeutronConfig& config) {
    return session_.emplace(config, &observed_, [this] { return now_; });
  }
  NeutronError Failure(Session& session) {
    return FailureOf([&] { (void)session.Get(); }).value();
  }

  Session::Clock::time_point now_ = Session::Clock::now();
  std::optional<Session> session_;
};

TEST_F(SessionTest, APasswordIsSentAsRecordedAndTheCatalogNamesNeutron) {
  Recorded recorded = Load("keystone-token-create-password");
  keystone_.Replay(recorded);

  const Access access = Made(Config()).Get();

  EXPECT_EQ(access.token, "REDACTED");
  EXPECT_EQ(access.url, "http://127.0.0.1:9696/v2.0");
  EXPECT_EQ(DifferenceOf(keystone_.Requests().at(0), recorded), "");
}

TEST_F(SessionTest, AnApplicationCredentialIsSentAsRecorded) {
  const Recorded recorded = Load("keystone-token-create-application-credential");
  keystone_.Replay(recorded);
  NeutronConfig config = Config();
  config.identity.method = Identity::Method::kApplicationCredential;
  config.identity.credential.id = "74dad09d439645fba3d8bc644d58edb0";
  config.identity.credential_secret = "REDACTED";

  EXPECT_EQ(Made(config).Get().token, "REDACTED");

  EXPECT_EQ(DifferenceOf(keystone_.Requests().at(0), recorded), "");
}

TEST_F(SessionTest, ATokenIsExchangedForOneOfTheProject) {
  GrantToken("first");
  NeutronConfig config = Config();
  config.identity.method = Identity::Method::kToken;
  config.identity.token = "given";

  EXPECT_EQ(Made(config).Get().token, "first");

  EXPECT_EQ(nlohmann::json::parse(keystone_.Requests().at(0).body),
            nlohmann::json::parse(R"({"auth": {
                "identity": {"methods": ["token"], "token": {"id": "given"}},
                "scope": {"project": {"name": "k8s", "domain": {"name": "Default"}}}}})"));
}

TEST_F(SessionTest, ATokenIsKeptUntilItIsAboutToExpire) {
  GrantToken("first", minutes(60));
  GrantToken("second", minutes(60));
  Session& session = Made(Config());

  EXPECT_EQ(session.Get().token, "first");
  now_ += minutes(57);
  EXPECT_EQ(session.Get().token, "first");
  now_ += minutes(2);
  EXPECT_EQ(session.Get().token, "second");

  EXPECT_THAT(keystone_.Requests(), SizeIs(2));
}

TEST_F(SessionTest, WithKeystoneAwayATokenIsKeptToItsEnd) {
  GrantToken("first", minutes(60));
  keystone_.Answer(503, "");
  keystone_.Answer(503, "");
  keystone_.Answer(503, "");
  Session& session = Made(Config());
  (void)session.Get();

  now_ += minutes(59);
  EXPECT_EQ(session.Get().token, "first");
  EXPECT_EQ(session.Get().token, "first");
  EXPECT_THAT(keystone_.Requests(), SizeIs(2)) << "it is asked again after a pause";
  now_ += seconds(30);
  EXPECT_EQ(session.Get().token, "first");
  EXPECT_THAT(keystone_.Requests(), SizeIs(3));
  now_ += seconds(31);
  EXPECT_EQ(Failure(session).kind(), Kind::kUnavailable);
}

TEST_F(SessionTest, OnlyTheTokenThatWasRefusedIsReplaced) {
  GrantToken("first");
  GrantToken("second");
  Session& session = Made(Config());
  (void)session.Get();

  session.Refuse("older");
  EXPECT_EQ(session.Get().token, "first");
  session.Refuse("first");
  EXPECT_EQ(session.Get().token, "second");
}

TEST_F(SessionTest, OfManyThatNeedATokenOneAsks) {
  GrantToken("first");
  Session session(Config(), nullptr);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { EXPECT_EQ(session.Get().token, "first"); });
  for (std::thread& thread : threads) thread.join();

  EXPECT_THAT(keystone_.Requests(), SizeIs(1));
}

TEST_F(SessionTest, WhatKeystoneRefusesIsToldWithoutAnySecret) {
  for (const char* name :
       {"keystone-token-create-401-wrong-password", "keystone-token-create-401-unknown-project"}) {
    keystone_.Replay(name);
    const NeutronError failure = Failure(Made(Config()));
    EXPECT_EQ(failure.kind(), Kind::kUnauthorized);
    EXPECT_THAT(failure.what(), AllOf(HasSubstr("Keystone answered 401"), HasSubstr("[neutron]"),
                                      Not(HasSubstr("REDACTED"))));
  }
  // Keystone's 400 quotes the request.
  keystone_.Answer(400, R"({"error": {"code": 400, "message": "'REDACTED' is not a user"}})");
  EXPECT_THAT(Failure(Made(Config())).what(), Not(HasSubstr("REDACTED")));
  keystone_.Replay("keystone-token-create-400-malformed");
  EXPECT_EQ(Failure(Made(Config())).kind(), Kind::kBadRequest);
}

TEST_F(SessionTest, AnEndpointIsChosenByRegionAndInterface) {
  keystone_.Replay("keystone-token-create-password");
  NeutronConfig config = Config();
  config.region_name = "RegionTwo";
  config.interfaces = {"internal", "public"};

  const NeutronError failure = Failure(Made(config));

  EXPECT_EQ(failure.kind(), Kind::kUnavailable);
  EXPECT_THAT(failure.what(),
              AllOf(HasSubstr("$.token.catalog: has no endpoint of type network, interface "
                              "internal or public, region RegionTwo"),
                    HasSubstr("there are: RegionOne/admin, RegionOne/internal, RegionOne/public")));
}

TEST_F(SessionTest, AnOverrideTakesTheCatalogsPlace) {
  GrantToken("first");
  NeutronConfig config = Config();
  config.region_name = "nowhere";
  config.endpoint_override = "https://neutron.example/net/";

  EXPECT_EQ(Made(config).Get().url, "https://neutron.example/net/v2.0");
}

TEST_F(SessionTest, AnAnswerThatIsNoneOfKeystonesIsRefused) {
  keystone_.Answer(201, "{}");
  EXPECT_THAT(Failure(Made(Config())).what(), HasSubstr("no header X-Subject-Token"));
  keystone_.Answer(201, "{}", {{"X-Subject-Token", "t"}});
  EXPECT_THAT(Failure(Made(Config())).what(), HasSubstr("$.token: is missing"));
  keystone_.Answer(201, R"({"token": {"issued_at": "2026-11-22T17:41:27Z", "expires_at": 7}})",
                   {{"X-Subject-Token", "t"}});
  EXPECT_THAT(Failure(Made(Config())).what(), HasSubstr("$.token.expires_at: found 7"));
  keystone_.Answer(200, "<html>");
  EXPECT_EQ(Failure(Made(Config())).kind(), Kind::kUnavailable);
}

}  // namespace
}  // namespace kuryr::controller::neutron
