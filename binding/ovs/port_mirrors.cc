#include "binding/ovs/port_mirrors.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "ovsdb/operation.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;
using ovsdb::Mutate;
using ovsdb::Require;
using ovsdb::Select;
using ovsdb::Uuid;
using ovsdb::Where;

/// A mirror's columns that name ports (ovs-vswitchd.conf.db(5), Mirror).
constexpr const char* kSources = "select_src_port";
constexpr const char* kDestinations = "select_dst_port";
constexpr const char* kOutput = "output_port";
constexpr std::array kPortSets = {kSources, kDestinations, kOutput};

// Somebody else's changes can come in between a look and a change; more often is no coincidence.
constexpr int kMirrorAttempts = 4;

std::vector<const char*> SetsOf(const PortMirror& mirror) {
  std::vector<const char*> sets;
  if (mirror.ingress) sets.push_back(kSources);
  if (mirror.egress) sets.push_back(kDestinations);
  if (mirror.output) sets.push_back(kOutput);
  return sets;
}

/// The elements of a <set> of UUIDs: one is its element.
json ElementsOf(const json& set) { return set.at(0) == "set" ? set.at(1) : json::array({set}); }

bool Has(const json& set, const json& uuid) {
  const json elements = ElementsOf(set);
  return std::find(elements.begin(), elements.end(), uuid) != elements.end();
}

bool IsOnly(const json& set, const json& uuid) {
  const json elements = ElementsOf(set);
  return std::all_of(elements.begin(), elements.end(),
                     [&](const json& element) { return element == uuid; });
}

/// Fails the transaction where there is a mirror of this name.
json RequireNoMirror(const std::string& name) {
  return {{"op", "wait"},
          {"timeout", 0},
          {"table", "Mirror"},
          {"where", Where("name", "==", name)},
          {"columns", json::array({"name"})},
          {"until", "=="},
          {"rows", json::array()}};
}

json NewMirror(const PortMirror& mirror, const std::string& bridge, const json& port) {
  json row = {{"name", mirror.name}, {"external_ids", ovsdb::Map({{"owner", kOvsCniOwner}})}};
  for (const char* set : SetsOf(mirror)) row[set] = port;
  return json::array({RequireNoMirror(mirror.name), ovsdb::Insert("Mirror", "mirror", row),
                      Mutate("Bridge", Where("name", "==", bridge), "mirrors", "insert",
                             ovsdb::NamedUuid("mirror"))});
}

json MirrorColumns() {
  json columns = json::array({"_uuid", "name", "select_all", "external_ids"});
  for (const char* set : kPortSets) columns.push_back(set);
  return columns;
}

/// Without `port` the mirror is empty, and ovs-cni's or ours to remove.
bool GoesWith(const json& mirror, const json& port) {
  const auto ids = ovsdb::ParseMap(mirror.at("external_ids"));
  const auto owner = ids.find("owner");
  return owner != ids.end() && owner->second == kOvsCniOwner && mirror.at("select_all") == false &&
         std::all_of(kPortSets.begin(), kPortSets.end(),
                     [&](const char* set) { return IsOnly(mirror.at(set), port); });
}

void AppendLeaving(const json& mirror, const json& port, json& operations) {
  const json& uuid = mirror.at("_uuid");
  const json where = Where("_uuid", "==", uuid);
  for (const char* set : kPortSets)
    operations.push_back(Require("Mirror", where, set, mirror.at(set)));
  if (GoesWith(mirror, port)) {
    operations.push_back(
        Mutate("Bridge", Where("mirrors", "includes", uuid), "mirrors", "delete", uuid));
    return;
  }
  for (const char* set : kPortSets)
    operations.push_back(Mutate("Mirror", where, set, "delete", port));
}

}  // namespace

json PortMirrors::JoinOperations(const std::string& bridge, const PortMirror& mirror,
                                 const Deadline& deadline) {
  const json results = client_.TransactOrThrow(
      json::array({Select("Mirror", Where("name", "==", mirror.name), MirrorColumns()),
                   Select("Bridge", Where("name", "==", bridge), json::array({"mirrors"}))}),
      deadline, "find mirror " + mirror.name);
  const json port = Uuid(port_.uuid);
  const json& rows = results.at(0).at("rows");
  if (rows.empty()) return NewMirror(mirror, bridge, port);
  const json& row = rows.at(0);
  const json& bridges = results.at(1).at("rows");
  if (bridges.empty() || !Has(bridges.at(0).at("mirrors"), row.at("_uuid")))
    throw OvsError("mirror " + Printable(mirror.name) + " is of another bridge than " + bridge);
  if (mirror.output && !IsOnly(row.at(kOutput), port))
    throw OvsError("mirror " + Printable(mirror.name) + " has another output port");
  const json where = Where("_uuid", "==", row.at("_uuid"));
  json operations = json::array({Require("Mirror", where, "name", mirror.name)});
  if (mirror.output) operations.push_back(Require("Mirror", where, kOutput, row.at(kOutput)));
  for (const char* set : SetsOf(mirror))
    operations.push_back(Mutate("Mirror", where, set, "insert", port));
  return operations;
}

void PortMirrors::Join(const std::string& bridge, const std::vector<PortMirror>& mirrors,
                       const Deadline& deadline) {
  for (const PortMirror& mirror : mirrors) {
    const std::string what = "join mirror " + mirror.name;
    int attempt = 0;
    while (!TryTransact(JoinOperations(bridge, mirror, deadline), deadline, what)) {
      if (++attempt == kMirrorAttempts)
        throw OvsError("OVSDB " + what + ": others change it meanwhile");
    }
  }
}

json PortMirrors::LeaveOperations(const Deadline& deadline) {
  const json port = Uuid(port_.uuid);
  json selections = json::array();
  for (const char* set : kPortSets)
    selections.push_back(Select("Mirror", Where(set, "includes", port), MirrorColumns()));
  const json results =
      client_.TransactOrThrow(selections, deadline, "find the mirrors of port " + port_.name);
  json operations = json::array();
  std::vector<json> seen;
  for (const json& result : results) {
    for (const json& mirror : result.at("rows")) {
      if (std::find(seen.begin(), seen.end(), mirror.at("_uuid")) != seen.end()) continue;
      seen.push_back(mirror.at("_uuid"));
      AppendLeaving(mirror, port, operations);
    }
  }
  return operations;
}

void PortMirrors::Leave(const Deadline& deadline) {
  const std::string what = "take port " + port_.name + " from its mirrors";
  for (int attempt = 0; attempt < kMirrorAttempts; ++attempt) {
    const json operations = LeaveOperations(deadline);
    if (operations.empty() || TryTransact(operations, deadline, what)) return;
  }
  throw OvsError("OVSDB " + what + ": others change them meanwhile");
}

std::optional<std::string> PortMirrors::FindDifference(const std::vector<PortMirror>& mirrors,
                                                       const Deadline& deadline) {
  for (const PortMirror& mirror : mirrors) {
    const json results = client_.TransactOrThrow(
        json::array({Select("Mirror", Where("name", "==", mirror.name), MirrorColumns())}),
        deadline, "find mirror " + mirror.name);
    const json& rows = results.at(0).at("rows");
    for (const char* set : SetsOf(mirror)) {
      if (!rows.empty() && Has(rows.at(0).at(set), Uuid(port_.uuid))) continue;
      return " is not in " + std::string(set) + " of mirror " + Printable(mirror.name);
    }
  }
  return std::nullopt;
}

bool PortMirrors::TryTransact(const json& operations, const Deadline& deadline,
                              const std::string& what) {
  json all = operations;
  // A caller may wait until ovs-vswitchd has the change.
  all.push_back(Mutate("Open_vSwitch", ovsdb::Everywhere(), "next_cfg", "+=", 1));
  const auto failure = OvsdbClient::FailureIn(client_.Transact(all, deadline, what));
  if (!failure) return true;
  if (failure->error == "timed out") return false;
  throw OvsError("OVSDB " + what + ": " + failure->ToString());
}

}  // namespace kuryr::binding
