#include "tests/controller/backends/ovn/northbound_fixture.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace kuryr::controller::ovn {
namespace {

constexpr const char* kSchema = "/usr/share/ovn/ovn-nb.ovsschema";
/// An election takes two seconds, and longer on a busy machine.
constexpr std::chrono::seconds kPatience{120};
constexpr std::chrono::milliseconds kLook{100};

std::string OutputOf(std::vector<std::string> argv) {
  test::ProcessResult result = test::RunProgram({.argv = std::move(argv)});
  if (result.status != 0) throw std::runtime_error(result.err);
  if (result.out.ends_with('\n')) result.out.pop_back();
  return std::move(result.out);
}

}  // namespace

void NorthboundTest::SetUp() {
  if (!std::filesystem::exists(kSchema)) GTEST_SKIP() << "the machine lacks OVN (ovn-common)";
  NetnsTest::SetUp();
  nbctl_db_ = remote();
  OutputOf({"ovsdb-tool", "create", "/run/nb.db", kSchema});
  StartServer();
}

void NorthboundTest::ReplaceDatabase(std::optional<int> most_acls) {
  StopServer();
  std::ifstream text(kSchema);
  nlohmann::json schema = nlohmann::json::parse(text);
  if (most_acls) schema["tables"]["ACL"]["maxRows"] = *most_acls;
  schema.erase("cksum");
  std::ofstream("/run/nb.ovsschema") << schema;
  std::filesystem::remove("/run/nb.db");
  OutputOf({"ovsdb-tool", "create", "/run/nb.db", "/run/nb.ovsschema"});
  StartServer();
}

void NorthboundTest::StartServer() {
  server_.emplace(test::Command{.argv = {"ovsdb-server", "/run/nb.db", "--remote=p" + remote(),
                                         "--unixctl=/run/nb.ctl", "-vconsole:info"}});
  server_->WaitForOutput("ovsdb-server (Open vSwitch)");
}

void NorthboundTest::StopServer() {
  server_->Signal(SIGTERM);
  server_->Wait();
  server_.reset();
}

NorthboundTest::Cluster::Cluster() {
  OutputOf({"ovsdb-tool", "create-cluster", "/run/nb0.db", kSchema, "unix:/run/raft0"});
  Start(0);
  for (const std::string number : {"1", "2"}) {
    OutputOf({"ovsdb-tool", "join-cluster", "/run/nb" + number + ".db", "OVN_Northbound",
              "unix:/run/raft" + number, "unix:/run/raft0"});
    Start(number == "1" ? 1 : 2);
    AwaitMember(number == "1" ? 1 : 2);
  }
}

void NorthboundTest::Cluster::AwaitMember(size_t server) {
  OutputOf({"ovsdb-client", "wait", "unix:/run/nb" + std::to_string(server) + ".sock",
            "OVN_Northbound", "connected"});
}

std::string NorthboundTest::Cluster::remotes() {
  return "unix:/run/nb0.sock,unix:/run/nb1.sock,unix:/run/nb2.sock";
}

void NorthboundTest::Cluster::Start(size_t server) {
  const std::string name = "/run/nb" + std::to_string(server);
  servers_.at(server).emplace(
      test::Command{.argv = {"ovsdb-server", name + ".db", "--remote=punix:" + name + ".sock",
                             "--unixctl=" + name + ".ctl", "-vconsole:info"}});
  servers_.at(server)->WaitForOutput("ovsdb-server (Open vSwitch)");
}

std::optional<size_t> NorthboundTest::Cluster::FindLeader() const {
  for (size_t server = 0; server < kServers; ++server) {
    if (!servers_.at(server)) continue;
    const test::ProcessResult status =
        test::RunProgram({.argv = {"ovs-appctl", "-t", "/run/nb" + std::to_string(server) + ".ctl",
                                   "cluster/status", "OVN_Northbound"}});
    if (status.out.find("\nRole: leader\n") != std::string::npos) return server;
  }
  return std::nullopt;
}

std::string NorthboundTest::Nbctl(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"ovn-nbctl", "--db=" + nbctl_db_, "--timeout=60"});
  return OutputOf(std::move(arguments));
}

std::vector<std::string> NorthboundTest::Column(const std::string& table, const std::string& column,
                                                const std::string& condition) {
  std::vector<std::string> arguments = {"--bare", "--no-headings", "--columns=" + column, "find",
                                        table};
  if (!condition.empty()) arguments.push_back(condition);
  std::istringstream text(Nbctl(std::move(arguments)));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

void NorthboundTest::Tell() {
  const std::lock_guard lock(mutex_);
  ++tells_;
  told_.notify_all();
}

bool NorthboundTest::Await(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::unique_lock lock(mutex_);
  while (std::chrono::steady_clock::now() < end) {
    const unsigned seen = tells_;
    lock.unlock();
    if (condition()) return true;
    lock.lock();
    told_.wait_for(lock, kLook, [&] { return tells_ != seen; });
  }
  return false;
}

}  // namespace kuryr::controller::ovn
