#include "binding/ovs/open_vswitch.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/rollback.h"
#include "binding/ovs/port_mirrors.h"
#include "binding/ovs/port_rows.h"
#include "binding/ovs/qos_rows.h"
#include "binding/ovs/switch_state.h"
#include "ovsdb/operation.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;
using ovsdb::Everywhere;
using ovsdb::Insert;
using ovsdb::Mutate;
using ovsdb::NamedUuid;
using ovsdb::Require;
using ovsdb::Select;
using ovsdb::Uuid;
using ovsdb::Where;

constexpr const char* kConstraintViolation = "constraint violation";
constexpr const char* kReferredTo = "referential integrity violation";

// Somebody else's changes can come in between a look and a change; more often is no coincidence.
constexpr int kAttempts = 4;

/// The datapath_type of the bridge that was looked for; empty where there is none.
std::string DatapathTypeIn(const json& result) {
  return result.value(json::json_pointer("/rows/0/datapath_type"), "");
}

// Places in what OperationsOnExistingBridge makes.
constexpr size_t kRequiredBridge = 0;
constexpr size_t kBridgeType = 1;

json OperationsOnExistingBridge(const OvsPort& port) {
  const json where = Where("name", "==", port.bridge);
  json operations = PortInsertions(port);
  // Without the bridge nothing is to happen.
  operations.insert(operations.begin() + kRequiredBridge,
                    Require("Bridge", where, "name", port.bridge));
  operations.insert(operations.begin() + kBridgeType,
                    Select("Bridge", where, json::array({"datapath_type"})));
  operations.push_back(Mutate("Bridge", where, "ports", "insert", NamedUuid("port")));
  AppendConfigNumber(operations);
  return operations;
}

// Places of what OperationsWithNewBridge inserts.
constexpr size_t kLocalPort = 0;
constexpr size_t kBridge = 1;

json OperationsWithNewBridge(const OvsPort& port) {
  const json ports =
      json::array({"set", json::array({NamedUuid("local_port"), NamedUuid("port")})});
  json operations = json::array(
      {Insert("Port", "local_port",
              {{"name", port.bridge}, {"interfaces", NamedUuid("local_interface")}}),
       Insert("Bridge", "bridge",
              {{"name", port.bridge}, {"datapath_type", port.datapath_type}, {"ports", ports}}),
       Insert("Interface", "local_interface", {{"name", port.bridge}, {"type", "internal"}})});
  for (json& insertion : PortInsertions(port)) operations.push_back(std::move(insertion));
  operations.push_back(
      Mutate("Open_vSwitch", Everywhere(), "bridges", "insert", NamedUuid("bridge")));
  AppendConfigNumber(operations);
  return operations;
}

std::string InsertedUuid(const json& result) { return result.at("uuid").at(1).get<std::string>(); }

}  // namespace

bool Includes(const ExternalIds& all, const ExternalIds& some) {
  for (const auto& [key, value] : some) {
    const auto found = all.find(key);
    if (found == all.end() || found->second != value) return false;
  }
  return true;
}

bool IsChangedByOthers(const std::string& key) {
  return key == "iface-status" || key == "attached-mac";
}

struct OpenVSwitch::PortRow {
  std::string uuid;
  std::string name;
  PortState state;  ///< without its bridge

  /// The operations that delete the port.
  [[nodiscard]] json Deletion() const;
};

void OpenVSwitch::Connect(const Deadline& deadline) {
  try {
    client_.Connect(deadline);
  } catch (const std::system_error& e) {
    throw OvsUnreachable(e);
  }
}

std::variant<AddedPort, TakenPort> OpenVSwitch::AddOrReplacePort(const OvsPort& port,
                                                                 const Deadline& deadline,
                                                                 const AddRules& rules) {
  OvsdbFailure failure;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) WaitUntilApplied(deadline);
    auto result = TryAddPort(port, deadline, rules);
    if (auto* added = std::get_if<AddedPort>(&result)) {
      NoteChange(added->config);
      return *added;
    }
    failure = std::get<OvsdbFailure>(result);
    if (failure.error != kConstraintViolation) break;
    const auto row = FindPort(port.name, deadline);
    if (!row) continue;
    if (!rules.may_replace || !rules.may_replace(row->state)) {
      std::string owner =
          "port " + port.name + " on bridge " + FindBridgeOf(row->uuid, deadline).value("name", "");
      for (const auto& [key, value] : row->state.external_ids)
        owner.append(" ").append(key).append("=").append(value);
      return TakenPort{Printable(owner, 500)};
    }
    LeaveMirrors(*row, deadline);
    (void)Transact(row->Deletion(), deadline, "delete port " + port.name);
  }
  throw OvsError("OVSDB add port " + port.name + " to bridge " + port.bridge + ": " +
                 failure.ToString());
}

std::variant<AddedPort, OvsdbFailure> OpenVSwitch::TryAddPort(const OvsPort& port,
                                                              const Deadline& deadline,
                                                              const AddRules& rules) {
  const std::string what = "add port " + port.name + " to bridge " + port.bridge;
  json results = client_.Transact(OperationsOnExistingBridge(port), deadline, what);
  auto failure = OvsdbClient::FailureIn(results);
  if (!failure)
    return AddedPort{.config = ReadConfigNumber(results),
                     .datapath_type = DatapathTypeIn(results.at(kBridgeType))};
  if (failure->operation != kRequiredBridge) return *failure;
  if (rules.before_bridge) rules.before_bridge();

  // The bridge's name is unique in the database: of several that make it, all but one fail.
  try {
    results = client_.Transact(OperationsWithNewBridge(port), deadline, what + ", a new one");
  } catch (const std::system_error&) {
    UndoAdd(port);
    throw;
  }
  failure = OvsdbClient::FailureIn(results);
  if (failure) return *failure;
  return AddedPort{
      .config = ReadConfigNumber(results),
      .datapath_type = port.datapath_type,
      .created_bridge = CreatedBridge{.name = port.bridge,
                                      .uuid = InsertedUuid(results.at(kBridge)),
                                      .local_port_uuid = InsertedUuid(results.at(kLocalPort))}};
}

/// After a transaction with a new bridge that has no answer. If the port is there, so is the bridge
/// because of it: had another made the bridge first, nothing would have been done.
void OpenVSwitch::UndoAdd(const OvsPort& port) noexcept {
  try {
    const Deadline deadline = Deadline::After(kRollbackTime);
    const auto row = FindPort(port.name, deadline);
    if (!row || !Includes(row->state.external_ids, port.external_ids)) return;
    const json columns = json::array({"_uuid"});
    const json results =
        Transact(json::array({Select("Bridge", Where("name", "==", port.bridge), columns),
                              Select("Port", Where("name", "==", port.bridge), columns)}),
                 deadline, "find bridge " + port.bridge);
    const auto uuid = [&](size_t i) {
      return results.at(i).at("rows").at(0).at("_uuid").at(1).get<std::string>();
    };
    const CreatedBridge bridge{.name = port.bridge, .uuid = uuid(0), .local_port_uuid = uuid(1)};
    LeaveMirrors(*row, deadline);
    (void)Transact(row->Deletion(), deadline, "delete port " + port.name);
    DeleteEmptyBridge(bridge, deadline);
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "a bridge that was made is not removed",
        {{"bridge", port.bridge}, {"error", e.what()}});
  }
}

AddedPort OpenVSwitch::UpdatePort(const OvsPort& port, const PortState& there, bool with_settings,
                                  const Deadline& deadline) {
  json operations = PortUpdates(port, there, with_settings);
  AppendConfigNumber(operations);
  const json results = Transact(operations, deadline, "update port " + port.name);
  const ConfigNumber number = ReadConfigNumber(results);
  NoteChange(number);
  return {.config = number, .datapath_type = there.datapath_type};
}

/// At the deadline the error says what was awaited.
template <typename Follow>
auto OpenVSwitch::Await(const std::string& what, const Deadline& deadline, const Follow& follow) {
  try {
    return client_.Insist(deadline, follow);
  } catch (const WordedError&) {
    throw;
  } catch (const std::system_error& e) {
    ThrowErrno(e.code().value(), what);
  }
}

uint32_t OpenVSwitch::WaitUntilUp(const OvsPort& port, const AddedPort& added,
                                  const Deadline& deadline) {
  const std::string what = "set up port " + port.name + " on bridge " + port.bridge;
  const uint32_t number = Await("wait for ovs-vswitchd to " + what, deadline,
                                [&] { return FollowUntilUp(port, added, deadline); });
  if (number == 0)
    throw OvsError("ovs-vswitchd did not " + what + WhyNotMade(port.bridge, deadline));
  return number;
}

/// The port's number; 0 when the database has been applied, and it has none.
uint32_t OpenVSwitch::FollowUntilUp(const OvsPort& port, const AddedPort& added,
                                    const Deadline& deadline) {
  std::vector<std::string> interfaces = {port.name};
  if (added.created_bridge) interfaces.push_back(added.created_bridge->name);
  SwitchState state;
  const Rollback stop([this] { client_.StopMonitor(); });
  state.Apply(client_.StartMonitor(SwitchState::Requests(interfaces), deadline));
  for (;;) {
    for (const std::string& interface : interfaces) {
      const std::string error = state.ErrorOf(interface);
      if (error.empty()) continue;
      std::string what = "ovs-vswitchd, interface ";
      throw OvsError(what.append(interface).append(": ").append(error));
    }
    const bool applied = state.applied() >= added.config;
    const uint32_t number = state.NumberOf(port.name);
    if (applied || (number != 0 && !added.created_bridge)) return number;
    state.Apply(client_.NextUpdate(deadline));
  }
}

void OpenVSwitch::JoinMirrors(const OvsPort& port, const Deadline& deadline) {
  if (port.settings.mirrors.empty()) return;
  client_.Insist(deadline, [&] {
    const auto row = FindPort(port.name, deadline);
    if (!row) throw OvsError("port " + port.name + " is gone");
    PortMirrors(client_, {.name = port.name, .uuid = row->uuid})
        .Join(port.bridge, port.settings.mirrors, deadline);
  });
  WaitUntilApplied(deadline);
}

std::optional<std::string> OpenVSwitch::FindMirrorDifference(const OvsPort& port,
                                                             const Deadline& deadline) {
  if (port.settings.mirrors.empty()) return std::nullopt;
  const auto row = FindPort(port.name, deadline);
  if (!row) return " is gone";
  return PortMirrors(client_, {.name = port.name, .uuid = row->uuid})
      .FindDifference(port.settings.mirrors, deadline);
}

bool OpenVSwitch::DeletePort(const std::string& name, const ExternalIds& owner,
                             const Deadline& deadline,
                             const std::function<void(const PortState* there)>& before) {
  auto row = FindPort(name, deadline);
  if (row && !Includes(row->state.external_ids, owner)) return false;
  if (before) before(row ? &row->state : nullptr);
  if (!row) {
    if (DeleteQos(name, owner, deadline)) return false;
    // An ADD that was cancelled may come true after the look: its port has the QoS.
    row = FindPort(name, deadline);
    if (!row || !Includes(row->state.external_ids, owner)) return false;
  }
  LeaveMirrors(*row, deadline);
  const json results = Transact(row->Deletion(), deadline, "delete port " + name);
  NoteChange(ReadConfigNumber(results), name);
  return results.at(0).at("count") != 0;
}

/// False: a port has the QoS.
bool OpenVSwitch::DeleteQos(const std::string& port, const ExternalIds& owner,
                            const Deadline& deadline) {
  const std::string what = "delete the QoS of port " + port;
  const json results = client_.Insist(
      deadline, [&] { return client_.Transact(QosDeletions(port, owner), deadline, what); });
  const auto failure = OvsdbClient::FailureIn(results);
  if (failure && failure->error != kReferredTo)
    throw OvsError("OVSDB " + what + ": " + failure->ToString());
  return !failure;
}

void OpenVSwitch::DeleteEmptyBridge(const CreatedBridge& bridge, const Deadline& deadline) {
  const json where = Where("_uuid", "==", Uuid(bridge.uuid));
  json operations = json::array();
  operations.push_back(Require("Bridge", where, "ports", Uuid(bridge.local_port_uuid)));
  operations.push_back(
      Mutate("Open_vSwitch", Everywhere(), "bridges", "delete", Uuid(bridge.uuid)));
  AppendConfigNumber(operations);
  const json results = client_.Transact(operations, deadline, "delete bridge " + bridge.name);
  const auto failure = OvsdbClient::FailureIn(results);
  if (failure && failure->operation != 0) {
    throw OvsError("OVSDB delete bridge " + bridge.name + ": " + failure->ToString());
  }
}

struct OpenVSwitch::Numbers {
  ConfigNumber last;
  ConfigNumber applied;
};

OpenVSwitch::Numbers OpenVSwitch::ReadNumbers(const Deadline& deadline) {
  const json results = Transact(
      json::array({Select("Open_vSwitch", Everywhere(), json::array({"next_cfg", "cur_cfg"}))}),
      deadline, "read cur_cfg");
  const ConfigNumber last = ReadConfigNumber(results);
  return {.last = last, .applied = results.at(0).at("rows").at(0).at("cur_cfg")};
}

void OpenVSwitch::WaitUntilApplied(const Deadline& deadline) {
  const Numbers now = ReadNumbers(deadline);
  if (now.applied < now.last) WaitUntilApplied(now.last, deadline);
}

void OpenVSwitch::WaitUntilLetGo(const std::string& port, const Deadline& deadline) {
  const Numbers now = ReadNumbers(deadline);
  const bool must_wait =
      changes_ == nullptr || changes_->MayHaveRemoved(port, now.applied, now.last);
  if (must_wait && now.applied < now.last) WaitUntilApplied(now.last, deadline);
}

void OpenVSwitch::WaitUntilApplied(ConfigNumber wanted, const Deadline& deadline) {
  Await("wait for ovs-vswitchd to apply what the database says", deadline, [&] {
    SwitchState state;
    const Rollback stop([this] { client_.StopMonitor(); });
    state.Apply(client_.StartMonitor(SwitchState::Requests({}), deadline));
    while (state.applied() < wanted) state.Apply(client_.NextUpdate(deadline));
  });
}

void OpenVSwitch::NoteChange(ConfigNumber number, const std::string& removed_port) const {
  if (changes_ != nullptr) changes_->Add(number, removed_port);
}

bool OpenVSwitch::IsServed(const Deadline& deadline) {
  json operations = json::array();
  AppendConfigNumber(operations);
  NoteChange(ReadConfigNumber(
      Transact(operations, deadline, "ask ovs-vswitchd to apply what the database says")));
  try {
    WaitUntilApplied(deadline);
    return true;
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::timed_out) throw;
    return false;
  }
}

std::optional<PortState> OpenVSwitch::FindPortState(const std::string& name,
                                                    const Deadline& deadline) {
  auto row = FindPort(name, deadline);
  if (!row) return std::nullopt;
  const json bridge = FindBridgeOf(row->uuid, deadline);
  row->state.bridge = bridge.value("name", "");
  row->state.datapath_type = bridge.value("datapath_type", "");
  return std::move(row->state);
}

std::optional<OpenVSwitch::PortRow> OpenVSwitch::FindPort(const std::string& name,
                                                          const Deadline& deadline) {
  const json where = Where("name", "==", name);
  const json results = Transact(json::array({Select("Port", where, PortColumns()),
                                             Select("Interface", where, InterfaceColumns())}),
                                deadline, "find port " + name);
  const json& ports = results.at(0).at("rows");
  if (ports.empty()) return std::nullopt;
  PortRow row{.uuid = InsertedUuid(json{{"uuid", ports.at(0).at("_uuid")}}), .name = name};
  // A bond's interfaces have other names; so it has no owner that we could know.
  const json& interfaces = results.at(1).at("rows");
  if (!interfaces.empty()) row.state = StateOf(ports.at(0), interfaces.at(0));
  return row;
}

/// Name and datapath_type of the port's bridge; empty where no bridge has the port any more.
json OpenVSwitch::FindBridgeOf(const std::string& port_uuid, const Deadline& deadline) {
  const json wanted = Select("Bridge", Where("ports", "includes", Uuid(port_uuid)),
                             json::array({"name", "datapath_type"}));
  const json rows = Read(wanted, deadline, "find the bridge of port " + port_uuid);
  return rows.empty() ? json::object() : rows.at(0);
}

void OpenVSwitch::LeaveMirrors(const PortRow& row, const Deadline& deadline) {
  // Before the port: as long as it is there, what was not done is found again.
  if (row.state.external_ids.contains(kMirrors))
    PortMirrors(client_, {.name = row.name, .uuid = row.uuid}).Leave(deadline);
}

json OpenVSwitch::PortRow::Deletion() const {
  // Port and interface go with the bridge's reference to them. A QoS row does not, and stays as
  // long as a port that is on its way out refers to it.
  const json port = Uuid(uuid);
  json operations =
      json::array({Mutate("Bridge", Where("ports", "includes", port), "ports", "delete", port),
                   ovsdb::Update("Port", Where("_uuid", "==", port), {{"qos", ovsdb::Nothing()}})});
  for (json& deletion : QosDeletions(name, state.external_ids))
    operations.push_back(std::move(deletion));
  AppendConfigNumber(operations);
  return operations;
}

/// ovs-vswitchd writes the reason why it makes no bridge to its log only.
std::string OpenVSwitch::WhyNotMade(const std::string& bridge, const Deadline& deadline) {
  const json results = Transact(
      json::array({Select("Bridge", Where("name", "==", bridge), json::array({"datapath_type"})),
                   Select("Open_vSwitch", Everywhere(), json::array({"datapath_types"}))}),
      deadline, "find the datapath types");
  std::string type = DatapathTypeIn(results.at(0));
  std::string known;
  for (const json& row : results.at(1).at("rows")) {
    // A <set> of one is its element.
    const json& types = row.at("datapath_types");
    for (const std::string name : types.is_array() ? types.at(1) : json::array({types})) {
      if (name == type) type.clear();
      known += (known.empty() ? "" : ", ") + name;
    }
  }
  if (!type.empty())
    return ", whose datapath_type is " + Printable(type) + "; it can do " + Printable(known, 200);
  return ": its log says why; the kernel may lack openvswitch, or Open vSwitch refuse the name "
         "that ovs_bridge, bridge_name of the VIF, or bridge of its network, gives";
}

json OpenVSwitch::Read(const json& select, const Deadline& deadline, const std::string& what) {
  return Transact(json::array({select}), deadline, what).at(0).at("rows");
}

/// For operations that may be done twice. Rows of QoS that another port refers to are left to it.
json OpenVSwitch::Transact(const json& operations, const Deadline& deadline,
                           const std::string& what) {
  return client_.Insist(deadline, [&] {
    json results = client_.Transact(operations, deadline, what);
    const auto failure = OvsdbClient::FailureIn(results);
    if (!failure) return results;
    if (failure->error != kReferredTo) throw OvsError("OVSDB " + what + ": " + failure->ToString());
    return client_.TransactOrThrow(LeavingQos(operations), deadline, what);
  });
}

}  // namespace kuryr::binding
