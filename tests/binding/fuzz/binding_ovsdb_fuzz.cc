// A database's words to OpenVSwitch and PortWiring: the JSON-RPC client below them is this
// file's.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

#include "base/ip.h"
#include "base/log.h"
#include "binding/ovs/bridge_list.h"
#include "binding/ovs/open_vswitch.h"
#include "binding/ovs/port_wiring.h"
#include "binding/ovs/tunnel.h"
#include "ovsdb/shim.h"
#include "tests/binding/ovs/honest_results.h"

struct ovsdb_connection {};

namespace kuryr::binding {
namespace {

using nlohmann::json;

/// Lines yet to be said; see LLVMFuzzerTestOneInput.
std::string_view script;

bool TakeLine(std::string& line) {
  if (script.empty()) return false;
  const size_t end = std::min(script.find('\n'), script.size());
  line = script.substr(0, end);
  script.remove_prefix(std::min(end + 1, script.size()));
  return true;
}

char* Copied(const std::string& text) { return ::strdup(text.c_str()); }

/// Requests are mostly the same: what is honest is worked out once.
const std::string& HonestAnswer(const char* params) {
  constexpr size_t kMostKnown = 1000;
  static std::map<std::string, std::string> known;
  if (known.size() > kMostKnown) known.clear();
  std::string& answer = known[params];
  if (answer.empty()) answer = HonestResults(json::parse(params)).dump();
  return answer;
}

const OvsPort kPort = {.name = "tap1",
                       .bridge = "br-int",
                       .external_ids = {{OpenVSwitch::kContainerId, "c1"}},
                       .qos_type = "linux-noop"};
const PlannedPort kPlanned = {.owner = {{OpenVSwitch::kContainerId, "c1"}}, .bridge = "br-int"};

void Ask(uint8_t what) {
  const std::string remote = "fuzz:";
  OpenVSwitch ovs(remote);
  const Deadline deadline;
  switch (what % 14) {
    case 0:
      return void(ovs.AddPort(kPort, deadline));
    case 1:
      return void(ovs.DeletePort("tap1", {}, deadline));
    case 2:
      return ovs.DeleteEmptyBridge({.name = "br-int", .uuid = "u"}, deadline);
    case 3:
      return ovs.WaitUntilApplied(deadline);
    case 4:
      return void(ovs.IsServed(deadline));
    case 5:
      return void(ovs.HasBridge("br-int", deadline));
    case 6:
      return void(ovs.FindPorts({}, deadline));
    case 7:
      return void(ovs.FindPortState("tap1", deadline));
    case 8:
      return void(ovs.WaitUntilUp(kPort, {.config = 2}, deadline));
    case 9:
      return void(PortWiring(remote, {}, WaitForWiring::kAuto).Wait({kPlanned}, deadline));
    case 10:
      return void(PortWiring(remote, {}, WaitForWiring::kAuto).Describe({kPlanned}, deadline));
    case 11:
      return void(FindTunnel(remote, deadline));
    case 12:
      return void(ListBridges(remote, deadline));
    default:
      return void(ovs.FindBridgeProblem("br-int", deadline));
  }
}

}  // namespace
}  // namespace kuryr::binding

extern "C" {

int ovsdb_open(const char* /*remote*/, ovsdb_limit /*limit*/, ovsdb_connection** connection) {
  *connection = new ovsdb_connection;
  return 0;
}
void ovsdb_close(ovsdb_connection* connection) { delete connection; }
int ovsdb_refresh(ovsdb_connection* /*connection*/) { return 0; }
int ovsdb_post(ovsdb_connection* /*connection*/, const char* /*method*/, const char* /*params*/) {
  return 0;
}

int ovsdb_call(ovsdb_connection* /*connection*/, const char* method, const char* params,
               ovsdb_limit /*limit*/, char** result) {
  using namespace kuryr::binding;
  *result = nullptr;
  std::string line;
  if (!TakeLine(line)) return ECONNRESET;
  if (line.starts_with('!')) {
    *result = Copied(line.substr(1));
    return EREMOTEIO;
  }
  const bool is_honest = line.empty() && std::string_view(method) == "transact";
  *result = Copied(is_honest ? HonestAnswer(params) : line);
  return 0;
}

int ovsdb_next(ovsdb_connection* /*connection*/, ovsdb_limit /*limit*/, char** notification) {
  using namespace kuryr::binding;
  *notification = nullptr;
  std::string line;
  if (!TakeLine(line)) return ETIMEDOUT;
  *notification = Copied(line);
  return 0;
}
}

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  // Failed undos are warned of, which happens here all the time.
  kuryr::SetLogLevel(kuryr::LogLevel::kError);
  return 0;
}

/// The first byte is what is asked. Each line after it is one answer or notification: empty is what
/// was asked for, "!" begins the server's refusal. After the last one the server is gone.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  kuryr::binding::script = {reinterpret_cast<const char*>(data) + 1, size - 1};
  try {
    kuryr::binding::Ask(data[0]);
  } catch (const std::system_error&) {
  } catch (const kuryr::binding::NotWired&) {
  }
  return 0;
}
