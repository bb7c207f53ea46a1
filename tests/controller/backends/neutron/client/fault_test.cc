// A client whose Neutron, or a proxy before it, does not answer as it should.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>

#include "tests/controller/backends/neutron/client/cloud_fixture.h"
#include "tests/fake_apiserver/fake_api_server.h"

namespace kuryr::controller::neutron {
namespace {

using Kind = NeutronError::Kind;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const PortRequest kRequest = {.network_id = kNetworkId, .device_id = "pod-uid"};

class FaultTest : public CloudFixture {
 protected:
  NeutronError CreationFailure(NeutronClient& client) {
    return FailureOf([&] { client.CreatePort(kRequest); }).value();
  }
  NeutronError GetFailure(NeutronClient& client) {
    return FailureOf([&] { (void)client.GetPort(kPortId); }).value();
  }
};

TEST_F(FaultTest, ALostAnswerToACreationIsUncertainAndNotAskedForAgain) {
  neutron_.HangUp();

  const NeutronError failure = CreationFailure(ClientWithoutKeystone());

  EXPECT_EQ(failure.kind(), Kind::kUnavailable);
  EXPECT_TRUE(failure.uncertain());
  EXPECT_THAT(failure.what(), AllOf(HasSubstr("create a port of pod-uid in network"),
                                    HasSubstr("broke off before the answer's end")));
  EXPECT_THAT(neutron_.Requests(), SizeIs(1));
}

TEST_F(FaultTest, AnAnswerThatBreaksOffIsUncertain) {
  neutron_.Script([](fake::Connection& connection) {
    (void)connection.Write("HTTP/1.1 201 Created\r\nContent-Length: 900\r\n\r\n{\"port\": {");
    return false;
  });

  EXPECT_TRUE(CreationFailure(ClientWithoutKeystone()).uncertain());
}

TEST_F(FaultTest, ALostAnswerToAQuestionIsOnlyLost) {
  neutron_.HangUp();

  const NeutronError failure = GetFailure(ClientWithoutKeystone());

  EXPECT_EQ(failure.kind(), Kind::kUnavailable);
  EXPECT_FALSE(failure.uncertain());
}

TEST_F(FaultTest, WhereNobodyListensNothingWasMade) {
  neutron_.server().StopListening();

  const NeutronError failure = CreationFailure(ClientWithoutKeystone());

  EXPECT_EQ(failure.kind(), Kind::kUnavailable);
  EXPECT_FALSE(failure.uncertain());
  EXPECT_THAT(failure.what(), HasSubstr(neutron_.url() + "/v2.0: cannot connect"));
}

TEST_F(FaultTest, AConnectionThatTheServerClosedIsReplaced) {
  const auto closed = std::make_shared<std::counting_semaphore<>>(0);
  for (int i = 0; i < 2; ++i) {
    neutron_.Script([closed, answer = Load("port-create").Wire()](fake::Connection& connection) {
      (void)connection.Write(answer);
      connection.Close();
      closed->release();
      return false;
    });
  }
  NeutronClient& client = ClientWithoutKeystone();

  for (int i = 0; i < 2; ++i) {
    EXPECT_NO_THROW(client.CreatePort(kRequest)) << i;
    closed->acquire();
  }
}

TEST_F(FaultTest, ATokenThatIsRefusedIsReplacedOnce) {
  NeutronClient& client = Client();
  GrantToken("second");
  neutron_.Replay("neutron-401-bad-token");
  neutron_.Replay("port-get");

  EXPECT_EQ(client.GetPort(kPortId).id, kPortId);

  EXPECT_EQ(neutron_.Requests().at(0).Header("x-auth-token"), "first");
  EXPECT_EQ(neutron_.Requests().at(1).Header("x-auth-token"), "second");
  EXPECT_THAT(observed_.All(),
              ElementsAre("token ok", "port_get unauthorized", "token ok", "port_get ok"));
}

TEST_F(FaultTest, ANewTokenThatIsRefusedTooEndsTheCall) {
  NeutronClient& client = Client();
  GrantToken("second");
  neutron_.Replay("neutron-401-bad-token");
  neutron_.Replay("neutron-401-revoked-token");

  EXPECT_EQ(GetFailure(client).kind(), Kind::kUnauthorized);

  EXPECT_THAT(neutron_.Requests(), SizeIs(2));
}

TEST_F(FaultTest, WithKeystoneAwayTheTokenIsKept) {
  NeutronClient& client = Client();
  neutron_.Replay("neutron-503-keystone-away");
  neutron_.Replay("port-get");

  const NeutronError failure = GetFailure(client);
  EXPECT_EQ(failure.kind(), Kind::kUnavailable);
  EXPECT_THAT(failure.what(), HasSubstr("Keystone service is temporarily unavailable"));
  EXPECT_EQ(client.GetPort(kPortId).id, kPortId);

  EXPECT_THAT(keystone_.Requests(), SizeIs(1));
}

TEST_F(FaultTest, RetryAfterIsHandedOnAndBounded) {
  const std::vector<std::pair<std::string, std::optional<seconds>>> answers = {
      {"7", seconds(7)}, {"99999999", seconds(300)}, {"-1", std::nullopt}, {"soon", std::nullopt}};
  for (const auto& [text, expected] : answers) {
    for (const auto& [status, kind] :
         {std::pair(429, Kind::kThrottled), std::pair(503, Kind::kUnavailable)}) {
      neutron_.Answer(status, "slow down", {{"Retry-After", text}});
      const NeutronError failure = CreationFailure(ClientWithoutKeystone());
      EXPECT_EQ(failure.kind(), kind);
      EXPECT_EQ(failure.retry_after(), expected) << text;
      EXPECT_FALSE(failure.uncertain());
    }
  }
}

TEST_F(FaultTest, StatusesOfProxiesHaveTheirKind) {
  const std::map<int, std::pair<Kind, bool>> answers = {
      {301, {Kind::kBadRequest, false}},   {408, {Kind::kUnavailable, true}},
      {412, {Kind::kPrecondition, false}}, {413, {Kind::kBadRequest, false}},
      {414, {Kind::kTooLong, false}},      {500, {Kind::kUnavailable, true}},
      {502, {Kind::kUnavailable, true}},   {504, {Kind::kUnavailable, true}}};
  for (const auto& [status, expected] : answers) {
    neutron_.Answer(status, "", {{"Location", "https://other.example/v2.0/ports"}});
    const NeutronError failure = CreationFailure(ClientWithoutKeystone());
    EXPECT_EQ(failure.kind(), expected.first) << status;
    EXPECT_EQ(failure.uncertain(), expected.second) << status;
    EXPECT_EQ(failure.status(), status);
  }
}

TEST_F(FaultTest, ARedirectIsNotFollowedButNamed) {
  neutron_.Answer(302, "", {{"Location", "https://other.example/"}});

  EXPECT_THAT(GetFailure(ClientWithoutKeystone()).what(),
              AllOf(HasSubstr("https://other.example/"), HasSubstr("endpoint_override")));
}

TEST_F(FaultTest, A404ThatIsNotNeutronsDeletesNothing) {
  for (const char* body : {"<html>not here</html>", "",
                           R"({"NeutronError": {"type": "HTTPNotFound", "message": "?"}})"}) {
    neutron_.Answer(404, body);
    const auto failure = FailureOf([&] { ClientWithoutKeystone().DeletePort(kPortId); });
    ASSERT_TRUE(failure) << body;
    EXPECT_EQ(failure->kind(), Kind::kUnavailable);
    EXPECT_THAT(failure->what(), HasSubstr("endpoint_override"));
  }
}

TEST_F(FaultTest, AnAnswerThatIsNoneOfNeutronsNamesTheField) {
  const std::map<std::string, std::string> bodies = {
      {"<html>log in</html>", "$: no JSON"},
      {"[]", "$: found an array"},
      {"{}", "$.port: is missing"},
      {R"({"port": {"id": 7}})", "$.port.id: found 7"},
      {R"({"port": {"id": "../x"}})", "$.port.id: found \"../x\", expected a UUID"}};
  for (const auto& [body, reason] : bodies) {
    neutron_.Answer(201, body);
    const NeutronError failure = CreationFailure(ClientWithoutKeystone());
    EXPECT_EQ(failure.kind(), Kind::kUnavailable) << body;
    EXPECT_TRUE(failure.uncertain()) << body;
    EXPECT_THAT(failure.what(), HasSubstr(reason));
  }
}

TEST_F(FaultTest, AnEndlessAnswerIsGivenUp) {
  neutron_.Script([](fake::Connection& connection) {
    bool open = connection.Write("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n");
    const std::string much(size_t{1} << 20, 'x');
    while (open) open = connection.Write(much);
    return false;
  });

  EXPECT_THAT(GetFailure(ClientWithoutKeystone()).what(),
              HasSubstr("answers with more than 16777216 bytes"));
}

TEST_F(FaultTest, AnAnswerOfManySmallObjectsTakesLittleMemory) {
  // Each object takes a hundred times the memory of its text.
  std::string body = R"({"port":[)";
  while (body.size() < (size_t{15} << 20)) body += "{},";
  body += "{}]}";
  neutron_.Script([&body](fake::Connection& connection) {
    (void)connection.Write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
                           std::to_string(body.size()) + "\r\n\r\n" + body);
    return false;
  });

  EXPECT_THAT(GetFailure(ClientWithoutKeystone()).what(),
              HasSubstr("has more than 1048576 values"));
}

TEST_F(FaultTest, AnEndlessErrorIsAnErrorAllTheSame) {
  neutron_.Script([](fake::Connection& connection) {
    bool open = connection.Write("HTTP/1.1 429 No\r\nContent-Length: 99999999999\r\n\r\n");
    const std::string much(size_t{1} << 20, 'x');
    while (open) open = connection.Write(much);
    return false;
  });

  EXPECT_EQ(GetFailure(ClientWithoutKeystone()).kind(), Kind::kThrottled);
}

TEST_F(FaultTest, ASilentServerIsNotWaitedFor) {
  NeutronClient& client =
      ClientWithoutKeystone([](NeutronConfig& config) { config.access.timeout = seconds(1); });
  for (int i = 0; i < 2; ++i) {
    neutron_.Script([](fake::Connection& connection) {
      connection.WaitForClose();
      return false;
    });
  }

  EXPECT_FALSE(GetFailure(client).uncertain());
  const NeutronError failure = CreationFailure(client);
  EXPECT_TRUE(failure.uncertain());
  EXPECT_THAT(failure.what(), HasSubstr("no answer in 1 s ([neutron] timeout)"));
}

TEST_F(FaultTest, ADrippingAnswerEndsWithItsTime) {
  NeutronClient& client =
      ClientWithoutKeystone([](NeutronConfig& config) { config.access.timeout = seconds(1); });
  neutron_.Script([](fake::Connection& connection) {
    const fake::Signal never;
    bool open = connection.Write("HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n");
    while (open) {
      open = connection.Write("x") &&
             connection.WaitUntil(never,
                                  fake::Connection::Clock::now() + std::chrono::milliseconds(50)) ==
                 fake::Connection::Wake::kTimeout;
    }
    return false;
  });

  EXPECT_THAT(GetFailure(client).what(), HasSubstr("answer not finished in 1 s"));
}

TEST_F(FaultTest, NoMoreRequestsAreUnderWayThanAllowed) {
  const auto inside = std::make_shared<std::atomic<int>>(0);
  const auto most = std::make_shared<std::atomic<int>>(0);
  for (int i = 0; i < 12; ++i) {
    neutron_.Script([inside, most, wire = Load("port-get").Wire()](fake::Connection& connection) {
      const int now = ++*inside;
      for (int seen = *most; now > seen && !most->compare_exchange_weak(seen, now);) {
      }
      // Other requests would come meanwhile.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      --*inside;
      return connection.Write(wire);
    });
  }
  NeutronClient& client =
      ClientWithoutKeystone([](NeutronConfig& config) { config.max_requests = 2; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) threads.emplace_back([&] { (void)client.GetPort(kPortId); });
  for (std::thread& thread : threads) thread.join();

  EXPECT_LE(*most, 2);
}

TEST_F(FaultTest, StopEndsACallUnderWayAndEveryLaterOne) {
  const auto asked = std::make_shared<std::promise<void>>();
  neutron_.Script([asked](fake::Connection& connection) {
    asked->set_value();
    connection.WaitForClose();
    return false;
  });
  NeutronClient& client = ClientWithoutKeystone();
  std::promise<std::string> told;
  std::thread caller([&] { told.set_value(GetFailure(client).what()); });
  asked->get_future().wait();

  client.Stop();

  EXPECT_THAT(told.get_future().get(), HasSubstr("request cancelled"));
  caller.join();
  EXPECT_THAT(GetFailure(client).what(), HasSubstr("request cancelled"));
}

TEST_F(FaultTest, AMessageThatQuotesTheTokenHasNone) {
  NeutronClient& client = Client();
  neutron_.Answer(400, R"({"NeutronError": {"type": "first", "message": "token first is odd"}})");

  const NeutronError failure = GetFailure(client);

  EXPECT_THAT(failure.what(), AllOf(HasSubstr("token *** is odd"), Not(HasSubstr("first"))));
  EXPECT_EQ(failure.type(), "***");
}

TEST_F(FaultTest, TagsAreSentWithTheCreationWhereTheyCount) {
  neutron_.Replay("ml2-ovs/extensions-with-tag-ports-during-bulk-creation");
  neutron_.Replay("port-create");
  PortRequest request = kRequest;
  request.tags = {"kuryr"};

  ClientWithoutKeystone().CreatePort(request);

  ASSERT_THAT(neutron_.Requests(), SizeIs(2));
  EXPECT_EQ(nlohmann::json::parse(neutron_.Requests()[1].body).at("port").at("tags"),
            nlohmann::json({"kuryr"}));
}

TEST_F(FaultTest, ElsewhereTagsAreSetAfterwards) {
  neutron_.Replay("extensions");
  neutron_.Replay("port-create");
  neutron_.Replay("port-tags-put");
  PortRequest request = kRequest;
  request.tags = {"kuryr"};

  EXPECT_THAT(ClientWithoutKeystone().CreatePort(request).tags, ElementsAre("kuryr"));

  EXPECT_FALSE(nlohmann::json::parse(neutron_.Requests().at(1).body).at("port").contains("tags"));
  EXPECT_EQ(neutron_.Requests().at(2).target, std::string("/v2.0/ports/") + kPortId + "/tags");
}

TEST_F(FaultTest, APortWhoseTagsFailedIsThereForAllThatIsKnown) {
  neutron_.Replay("extensions");
  neutron_.Replay("port-create");
  neutron_.Replay("port-update-404");
  PortRequest request = kRequest;
  request.tags = {"kuryr"};

  EXPECT_TRUE(FailureOf([&] { ClientWithoutKeystone().CreatePort(request); }).value().uncertain());
}

TEST_F(FaultTest, AListIsReadPageByPageFromTheServerThatWasAsked) {
  const nlohmann::json port = nlohmann::json::parse(Load("port-get").answer).at("port");
  const nlohmann::json link = {{"rel", "next"}, {"href", "http://other.example/v2.0/ports"}};
  neutron_.Answer(200, nlohmann::json{{"ports", {port}}, {"ports_links", {link}}}.dump());
  nlohmann::json last = port;
  last["id"] = kNetworkId;
  neutron_.Answer(200, nlohmann::json{{"ports", {last}}}.dump());

  EXPECT_THAT(ClientWithoutKeystone().ListPorts({.device_owner = "compute:kuryr"}), SizeIs(2));

  EXPECT_EQ(neutron_.Requests().at(0).target, "/v2.0/ports?device_owner=compute%3Akuryr&limit=500");
  EXPECT_EQ(neutron_.Requests().at(1).target,
            std::string("/v2.0/ports?device_owner=compute%3Akuryr&limit=500&marker=") + kPortId);
}

TEST_F(FaultTest, PagesThatLeadInACircleAreRefused) {
  const nlohmann::json port = nlohmann::json::parse(Load("port-get").answer).at("port");
  const nlohmann::json link = {{"rel", "next"}, {"href", "x"}};
  for (int i = 0; i < 2; ++i)
    neutron_.Answer(200, nlohmann::json{{"ports", {port}}, {"ports_links", {link}}}.dump());

  EXPECT_THAT(FailureOf([&] { (void)ClientWithoutKeystone().ListPorts({}); }).value().what(),
              HasSubstr("$.ports_links: names a next page that leads nowhere"));
}

TEST_F(FaultTest, APollOfManyPortsIsSeveralRequestsThatEachFitIntoAUrl) {
  neutron_.Answer(200, R"({"ports": []})");
  neutron_.Answer(200, std::string(R"({"ports": [{"id": ")") + kPortId + R"("}]})");
  const std::vector<std::string> ids(151, kPortId);

  EXPECT_THAT(ClientWithoutKeystone().ActivePorts(ids), SizeIs(1));

  ASSERT_THAT(neutron_.Requests(), SizeIs(2));
  EXPECT_LT(neutron_.Requests()[0].target.size(), 8000U);
  EXPECT_EQ(neutron_.Requests()[1].target,
            std::string("/v2.0/ports?status=ACTIVE&fields=id&id=") + kPortId);
}

/// A Neutron over https, with a certificate of the tests' authority.
class TlsTest : public FaultTest {
 protected:
  NeutronClient& ClientThatTrusts(const std::string& authorities) {
    return ClientWithoutKeystone([&](NeutronConfig& config) {
      config.endpoint_override = secure_.url();
      config.access.ca_file = authorities;
    });
  }

  ScriptedServer secure_{fake::TestTls()};
};

TEST_F(TlsTest, ACertificateOfTheNamedAuthorityIsTrusted) {
  secure_.Replay("port-get");

  EXPECT_EQ(ClientThatTrusts(fake::CertificateFile("ca.crt")).GetPort(kPortId).id, kPortId);
}

TEST_F(TlsTest, ACertificateOfAnotherAuthorityIsRefusedAndNothingIsSent) {
  const NeutronError failure =
      CreationFailure(ClientThatTrusts(fake::CertificateFile("other-ca.crt")));

  EXPECT_EQ(failure.kind(), Kind::kUntrusted);
  EXPECT_FALSE(failure.uncertain());
  EXPECT_THAT(failure.what(),
              AllOf(HasSubstr("certificate refused"), HasSubstr("[neutron] cafile")));
  EXPECT_THAT(secure_.Requests(), IsEmpty());
}

TEST_F(TlsTest, AnAuthorityFileThatIsGoneIsToldByName) {
  const NeutronError failure = GetFailure(ClientThatTrusts("/nonexistent/ca.pem"));

  EXPECT_EQ(failure.kind(), Kind::kUntrusted);
  EXPECT_THAT(failure.what(), HasSubstr("/nonexistent/ca.pem"));
}

TEST_F(TlsTest, WithInsecureAnyCertificateWillDo) {
  secure_.Replay("port-get");
  NeutronClient& client = ClientWithoutKeystone([&](NeutronConfig& config) {
    config.endpoint_override = secure_.url();
    config.access.verify = false;
  });

  EXPECT_EQ(client.GetPort(kPortId).id, kPortId);
}

}  // namespace
}  // namespace kuryr::controller::neutron
