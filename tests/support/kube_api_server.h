#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "tests/support/subprocess.h"

namespace kuryr::test {

/// A Kubernetes API of the test's own: real etcd and kube-apiserver on 127.0.0.1, with RBAC,
/// authorities of their own and all their files in one new folder below `parent`. It is 1.20.2, or
/// that of $KUBEBUILDER_ASSETS, whose version it prints. No other part of Kubernetes runs: pods
/// stay Pending, service accounts are not made, and the only namespaces are those that the API
/// server makes for itself. Both programs end with the object or the thread that started them. Not
/// thread-safe. Throws std::runtime_error with the end of a program's log when it does not start.
class KubeApiServer {
 public:
  /// Why this machine has no API server, for GTEST_SKIP(); nullopt if it has one.
  [[nodiscard]] static std::optional<std::string> Unavailable();

  /// The API server is ready when the constructor returns, the namespace "default" included.
  explicit KubeApiServer(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  KubeApiServer(const KubeApiServer&) = delete;
  KubeApiServer& operator=(const KubeApiServer&) = delete;
  ~KubeApiServer();

  /// "https://127.0.0.1:PORT", the same for the object's whole life. IPv4 only; the certificate is
  /// for 127.0.0.1, ::1 and localhost.
  [[nodiscard]] std::string url() const;
  [[nodiscard]] uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::string ca_file() const { return Path("tls/ca.crt"); }
  /// Credentials of user "admin" in system:masters, who may do everything.
  [[nodiscard]] std::string token_file() const { return Path("tls/admin.token"); }
  [[nodiscard]] std::string client_cert_file() const { return Path("tls/admin.crt"); }
  [[nodiscard]] std::string client_key_file() const { return Path("tls/admin.key"); }
  /// The token of user "nobody", who has no rights.
  [[nodiscard]] std::string nobody_token_file() const { return Path("tls/nobody.token"); }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

  /// Kills it (SIGKILL): connections break off, etcd keeps the objects.
  void KillApiServer() { api_server_.reset(); }
  /// Starts it on the same port. It is ready on return.
  void StartApiServer();
  /// Makes etcd forget every revision before the present one. The API server still knows the
  /// changes since its start: only one that starts later answers 410 to requests for them.
  void Compact();

 private:
  [[nodiscard]] std::string Path(const std::string& name) const { return folder_ / name; }
  void ReservePort();
  void RemoveAll() noexcept;
  void StartEtcd();
  /// Runs the program in the folder, its output in the file `name`.log there.
  void Start(std::optional<Process>& process, const std::string& name,
             std::vector<std::string> arguments);
  /// Waits until the command `curl`, which asks `process`, succeeds.
  void WaitUntilAnswers(const Process& process, const std::string& name,
                        const std::vector<std::string>& curl) const;
  /// A command that prints the answer of etcd's JSON gateway (v3/kv/...).
  [[nodiscard]] std::vector<std::string> AskEtcd(const std::string& method,
                                                 const std::string& request) const;

  const std::filesystem::path programs_;
  const std::filesystem::path folder_;
  UniqueFd reservation_;
  uint16_t port_ = 0;
  std::optional<Process> etcd_;
  std::optional<Process> api_server_;
};

}  // namespace kuryr::test
