// What a replica does when its server fails in ways that a real one does not on request.
#include "ovsdb/replica.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "ovsdb/error.h"
#include "tests/binding/pod_attachment.h"
#include "tests/ovsdb/scripted_server.h"
#include "tests/support/netns_fixture.h"

namespace kuryr {
namespace {

using binding::Soon;
using nlohmann::json;

constexpr const char* kDatabase = "OVN_Northbound";
constexpr const char* kOneSwitch = R"({"Logical_Switch": {"one": {"initial": {"name": "one"}}}})";

void Answer(int client, const char* result, const char* error) {
  const json request = json::parse(ScriptedServer::Receive(client));
  ScriptedServer::Send(
      client,
      json{{"id", request.at("id")}, {"result", json::parse(result)}, {"error", json::parse(error)}}
          .dump());
}

/// Does what a server without database _Server does, whose only row is a switch.
void Begin(int client) {
  Answer(client, "null", R"("unknown database")");  // get_schema of _Server
  Answer(client, "{}", "null");                     // get_schema
  Answer(client, kOneSwitch, "null");               // monitor_cond
}

using OvsdbReplicaTest = test::NetnsTest;

TEST_F(OvsdbReplicaTest, ReadsTheDatabaseAnewAfterAnUpdateThatDoesNotFit) {
  const json update = {{"id", nullptr},
                       {"method", "update2"},
                       {"params",
                        {json::array({"monid", kDatabase}),
                         {{"Logical_Switch", {{"unknown", {{"modify", {{"name", "two"}}}}}}}}}}};
  const ScriptedServer server(
      [&update, is_first = true](int client) mutable {
        Begin(client);
        if (std::exchange(is_first, false)) ScriptedServer::Send(client, update.dump());
        ScriptedServer::Receive(client);
      },
      2);
  int losses = 0;
  OvsdbReplica replica(
      kDatabase, ScriptedServer::remote(),
      {{.name = "Logical_Switch", .values = {"name"}, .condition = json::array({true})}},
      {.changed = [](const auto&, const auto&, const OvsdbRow*, const OvsdbRow*) {},
       .answered = [](const json&) {},
       .lost = [&] { ++losses; }});

  EXPECT_THROW(while (replica.Next(Soon())){}, OvsError);

  EXPECT_FALSE(replica.IsReady());
  const int before = losses;
  while (!replica.IsReady()) ASSERT_TRUE(replica.Next(Soon()));
  EXPECT_GT(losses, before);
  EXPECT_THAT(replica.RowsOf("Logical_Switch"), ::testing::SizeIs(1));
}

}  // namespace
}  // namespace kuryr
