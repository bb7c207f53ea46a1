#include "tests/support/kube_api_server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/error.h"
#include "tests/support/paths.h"

namespace kuryr::test {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;

/// Far above the time that the programs need: a machine that runs many tests at once may be slow.
constexpr std::chrono::seconds kStartTimeout{120};
/// The time between two questions. Each is a TLS handshake, which takes processor time from the
/// server.
constexpr std::chrono::milliseconds kPollInterval{200};

/// etcd wants HOST:PORT even for a Unix socket: it becomes the name of the socket's file.
constexpr const char* kEtcdSocket = "localhost:1";
constexpr const char* kEtcdUrl = "unix://localhost:1";
constexpr const char* kPeerUrl = "unix://localhost:2";

/// An empty range; its answer has the present revision. Keys are in base64.
constexpr const char* kNothing = R"({"key":"AA=="})";

std::string WithoutNewline(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string Script(const std::string& name) { return SourceDir() + "/tests/kubernetes/" + name; }

/// Finds the folder of the programs: in `out`, or why there is none in `err`.
ProcessResult FindPrograms() {
  return RunProgram({.argv = {Script("build-apiserver"), "--find", KURYR_CACHE_DIR}});
}

std::filesystem::path Programs() {
  const ProcessResult found = FindPrograms();
  if (found.status != 0) throw std::runtime_error(WithoutNewline(found.err));
  std::cerr << found.err;
  return WithoutNewline(found.out);
}

std::filesystem::path MakeFolder(const std::filesystem::path& parent) {
  std::string name = parent / "kube-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) ThrowErrno("make " + name);
  return name;
}

std::string Run(std::vector<std::string> argv) {
  const std::string name = argv.at(0);
  ProcessResult result = RunProgram({.argv = std::move(argv)});
  if (result.status != 0) throw std::runtime_error(name + " failed: " + result.err);
  return std::move(result.out);
}

/// A curl command. It exits with 0 when the answer is below 400, and prints any answer.
std::vector<std::string> Curl(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {"curl",      "--silent", "--show-error", "--fail-with-body",
                                   "--noproxy", "*",        "--max-time",   "20"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

std::string EndOf(const std::string& file) {
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  return text.substr(text.size() - std::min<size_t>(text.size(), 4096));
}

bool HasEnded(const Process& process) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(process.id());
  if (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0) ThrowErrno("look at a child");
  return info.si_pid != 0;
}

}  // namespace

std::optional<std::string> KubeApiServer::Unavailable() {
  const ProcessResult found = FindPrograms();
  if (found.status == 0) return std::nullopt;
  return WithoutNewline(found.err);
}

KubeApiServer::KubeApiServer(const std::filesystem::path& parent)
    : programs_(Programs()), folder_(MakeFolder(parent)) {
  try {
    Run({Script("make-identities"), Path("tls")});
    ReservePort();
    StartEtcd();
    StartApiServer();
  } catch (...) {
    RemoveAll();
    throw;
  }
}

KubeApiServer::~KubeApiServer() { RemoveAll(); }

void KubeApiServer::RemoveAll() noexcept {
  api_server_.reset();
  etcd_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string KubeApiServer::url() const { return "https://127.0.0.1:" + std::to_string(port_); }

/// Reserves a port. A bound socket that never listens keeps other programs from getting the port,
/// also while the API server is down. With SO_REUSEADDR, which Go sets as well, the API server may
/// listen on it.
void KubeApiServer::ReservePort() {
  reservation_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::setsockopt(reservation_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(reservation_.get(), generic, length) != 0 ||
      ::getsockname(reservation_.get(), generic, &length) != 0)
    ThrowErrno("reserve a port");
  port_ = ntohs(address.sin_port);
}

void KubeApiServer::Start(std::optional<Process>& process, const std::string& name,
                          std::vector<std::string> arguments) {
  // Relative names, such as those of the sockets, are below the folder. etcd may be the machine's.
  // The child's own pipes are not read. GOGC: Go's garbage collector took a fifth of a start's
  // processor time.
  std::vector<std::string> argv = {
      "/bin/sh",
      "-c",
      R"(cd "$1" && PATH="$2:$PATH" && shift 2 && GOGC=400 exec "$0" "$@" >>"$0.log" 2>&1)",
      name,
      folder_,
      programs_};
  argv.insert(argv.end(), std::make_move_iterator(arguments.begin()),
              std::make_move_iterator(arguments.end()));
  process.emplace(Command{.argv = std::move(argv)});
}

void KubeApiServer::WaitUntilAnswers(const Process& process, const std::string& name,
                                     const std::vector<std::string>& curl) const {
  const auto deadline = steady_clock::now() + kStartTimeout;
  ProcessResult answer;
  while (!HasEnded(process) && steady_clock::now() < deadline) {
    answer = RunProgram({.argv = curl});
    if (answer.status == 0) return;
    std::this_thread::sleep_for(kPollInterval);
  }
  throw std::runtime_error(name + (HasEnded(process) ? " ended" : " is not ready") +
                           "; its last answer: " + answer.out + answer.err +
                           "; its log: " + EndOf(Path(name + ".log")));
}

void KubeApiServer::StartEtcd() {
  const std::string peer = kPeerUrl;
  // The only member of a cluster need not wait a second for others before it leads.
  Start(etcd_, "etcd",
        {"--data-dir=etcd", "--unsafe-no-fsync", "--heartbeat-interval=10", "--election-timeout=50",
         std::string("--listen-client-urls=") + kEtcdUrl,
         std::string("--advertise-client-urls=") + kEtcdUrl, "--listen-peer-urls=" + peer,
         "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer});
  WaitUntilAnswers(*etcd_, "etcd", AskEtcd("range", kNothing));
}

void KubeApiServer::StartApiServer() {
  Start(api_server_, "kube-apiserver",
        {std::string("--etcd-servers=") + kEtcdUrl,
         // Only Compact() compacts.
         "--etcd-compaction-interval=0", "--bind-address=127.0.0.1",
         "--secure-port=" + std::to_string(port_),
         // Without it, the API server looks up the machine's default route. No client connects to
         // it.
         "--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none",
         "--tls-cert-file=tls/server.crt", "--tls-private-key-file=tls/server.key",
         "--client-ca-file=tls/ca.crt", "--token-auth-file=tls/tokens.csv",
         "--authorization-mode=RBAC",
         // Without this, pods are refused: their service accounts are not made.
         "--disable-admission-plugins=ServiceAccount",
         "--service-account-issuer=https://kubernetes.default.svc",
         "--service-account-signing-key-file=tls/server.key",
         "--service-account-key-file=tls/server.crt", "--service-cluster-ip-range=10.96.0.0/16"});
  for (const char* path : {"/readyz", "/api/v1/namespaces/default"}) {
    WaitUntilAnswers(*api_server_, "kube-apiserver",
                     Curl({"--cacert", ca_file(), "--cert", client_cert_file(), "--key",
                           client_key_file(), url() + path}));
  }
}

std::vector<std::string> KubeApiServer::AskEtcd(const std::string& method,
                                                const std::string& request) const {
  return Curl(
      {"--unix-socket", Path(kEtcdSocket), "--data", request, "http://etcd/v3/kv/" + method});
}

void KubeApiServer::Compact() {
  const json present = json::parse(Run(AskEtcd("range", kNothing)));
  const json request{{"revision", present.at("header").at("revision")}, {"physical", true}};
  Run(AskEtcd("compaction", request.dump()));
}

}  // namespace kuryr::test
