#include "ovsdb/client.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "ovsdb/limit.h"
#include "ovsdb/operation.h"
#include "ovsdb/shim.h"

namespace kuryr {
namespace {

using nlohmann::json;

struct Free {
  void operator()(char* text) const noexcept { std::free(text); }
};
using Text = std::unique_ptr<char, Free>;

/// True for the errors of a server that restarts: its socket is missing, dead or just closed.
bool IsDown(int error) {
  return error == ENOENT || error == ECONNREFUSED || error == ECONNRESET || error == EPIPE;
}

/// Throws OvsError for a malformed answer: ParseError means a malformed VIF.
json ParseAnswer(const char* text, const std::string& where) {
  try {
    return ParseJson(text);
  } catch (const ParseError& e) {
    throw OvsError(where + ": " + e.what());
  }
}

bool IsUpdateOf(const json& notification, const std::string& monitor) {
  if (!notification.is_array() || notification.size() != 2) return false;
  const json& params = notification.at(1);
  return notification.at(0) == "update2" && params.is_array() && params.size() == 2 &&
         params.at(0) == monitor;
}

}  // namespace

std::string OvsdbFailure::ToString() const {
  return details.empty() ? error : error + ": " + details;
}

OvsdbClient::OvsdbClient(const OvsdbDatabase& database, std::string remote, OvsdbConnections* kept,
                         Deadline::Clock::duration patience)
    : database_(database), remote_(std::move(remote)), kept_(kept), patience_(patience) {}

OvsdbClient::~OvsdbClient() {
  if (kept_ != nullptr && connection_) kept_->Keep(remote_, std::move(connection_));
}

void OvsdbClient::UseTls(const std::string& private_key, const std::string& certificate,
                         const std::string& ca_certificate) {
  ovsdb_use_tls(private_key.c_str(), certificate.c_str(), ca_certificate.c_str());
}

json OvsdbClient::Transact(const json& operations, const Deadline& deadline,
                           const std::string& what) {
  json params = json::array({database_.name});
  params.insert(params.end(), operations.begin(), operations.end());
  Connect(deadline);
  json results = Call("transact", params, deadline, what);
  const auto is_answer = [this](const json& operation, const json& result) {
    return ovsdb::IsAnswerTo(operation, result, database_);
  };
  const bool answers =
      results.is_array() &&
      (FailureIn(results) ||
       std::equal(operations.begin(), operations.end(), results.begin(), results.end(), is_answer));
  if (!answers) FailForm(results, what);
  return results;
}

json OvsdbClient::TransactOrThrow(const json& operations, const Deadline& deadline,
                                  const std::string& what) {
  json results = Transact(operations, deadline, what);
  if (const auto failure = FailureIn(results))
    throw OvsError("OVSDB " + what + ": " + failure->ToString());
  return results;
}

void OvsdbClient::FailForm(const json& answer, const std::string& what) const {
  throw OvsError("OVSDB " + what + " at " + remote_ +
                 ": the server's answer has another form: " + Printable(answer.dump(), 200));
}

json OvsdbClient::Updates(json updates) const {
  if (!ovsdb::AreUpdates(updates, database_)) FailForm(updates, "monitor");
  return updates;
}

std::optional<OvsdbFailure> OvsdbClient::FailureIn(const json& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const json& result = results[i];
    const std::string error = StringAt(result, "error");
    if (error.empty()) continue;
    return OvsdbFailure{.operation = i, .error = error, .details = StringAt(result, "details")};
  }
  return std::nullopt;
}

json OvsdbClient::StartMonitor(const json& requests, const Deadline& deadline) {
  // A unique id: the connection may have had monitors of other clients before.
  static std::atomic<uint64_t> monitors = 0;
  Connect(deadline);
  const std::string id = "kuryr-" + std::to_string(++monitors);
  json rows = Call("monitor_cond", {database_.name, id, requests}, deadline, "monitor_cond");
  monitor_ = id;
  return Updates(std::move(rows));
}

json OvsdbClient::NextUpdate(const Deadline& deadline) {
  for (;;) {
    if (monitor_.empty()) FailRequest(ENOTCONN, "OVSDB monitor");
    char* text = nullptr;
    const int error = ovsdb_next(connection_.get(), ovsdb::LimitOf(deadline), &text);
    if (error != 0) FailRequest(error, "OVSDB monitor");
    const Text owner(text);
    json notification = ParseAnswer(text, "OVSDB monitor at " + remote_);
    // A stopped monitor's last updates may still come in.
    if (IsUpdateOf(notification, monitor_)) return Updates(std::move(notification[1][1]));
  }
}

void OvsdbClient::StopMonitor() noexcept {
  if (monitor_.empty()) return;
  const std::string params = "[\"" + monitor_ + "\"]";
  if (ovsdb_post(connection_.get(), "monitor_cancel", params.c_str()) != 0) connection_.reset();
  monitor_.clear();
}

void OvsdbClient::Connect(const Deadline& deadline) {
  if (connection_) {
    const int error = ovsdb_refresh(connection_.get());
    if (error == 0) return;
    // A new connection has no monitor, so it would never send what the caller waits for.
    if (!monitor_.empty()) FailRequest(error, "OVSDB monitor");
  }
  connection_ = kept_ != nullptr ? kept_->Take(remote_) : nullptr;
  is_unproven_ = connection_ != nullptr;
  while (!connection_) {
    ovsdb_connection* opened = nullptr;
    const int error = ovsdb_open(remote_.c_str(), ovsdb::LimitOf(deadline), &opened);
    if (error == 0) {
      connection_.reset(opened);
    } else if (IsPatient() && IsDown(error)) {
      AwaitServer(error, deadline);
    } else {
      FailConnect(error);
    }
  }
}

/// Returns when it is worth trying to connect.
void OvsdbClient::AwaitServer(int error, const Deadline& deadline) {
  if (!outage_) {
    outage_.emplace(remote_, error, patience_, kept_);
  } else if (!outage_->Wait(deadline)) {
    Forget(error);
    throw OvsdbAway(outage_->Describe(error));
  }
  outage_->Begin();
}

json OvsdbClient::Call(const char* method, const json& params, const Deadline& deadline,
                       const std::string& what) {
  char* text = nullptr;
  const int error =
      ovsdb_call(connection_.get(), method, params.dump().c_str(), ovsdb::LimitOf(deadline), &text);
  const Text owner(text);
  if (error == EREMOTEIO) {
    throw OvsError("OVSDB " + what + " at " + remote_ + ": " + Printable(text, 500));
  }
  if (error != 0) FailRequest(error, "OVSDB " + what);
  outage_.reset();
  is_unproven_ = false;
  return ParseAnswer(text, "OVSDB " + what + " at " + remote_);
}

void OvsdbClient::Forget(int error) {
  connection_.reset();
  monitor_.clear();
  if (kept_ != nullptr && error != ECANCELED) kept_->Drop(remote_);
}

void OvsdbClient::FailConnect(int error) {
  // The server is only busy: the idle connections to it are as good as ever.
  if (error == EAGAIN)
    ThrowErrno(ETIMEDOUT,
               "connect to OVSDB at " + remote_ + ", whose queue of connections is full");
  Forget(error);
  ThrowErrno(error, "connect to OVSDB at " + remote_);
}

void OvsdbClient::FailRequest(int error, const std::string& action) {
  Forget(error);
  const std::string what = action + " at " + remote_;
  if (IsDown(error)) throw OvsdbConnectionLost(error, std::generic_category(), what);
  ThrowErrno(error, what);
}

}  // namespace kuryr
