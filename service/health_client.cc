#include "service/health_client.h"

#include <httplib.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "base/error.h"
#include "base/unix_socket.h"
#include "service/health_socket.h"

namespace kuryr::service {
namespace {

/// An HTTP client over a unix socket, which httplib lacks.
class SocketClient : public httplib::ClientImpl {
 public:
  explicit SocketClient(std::string path)
      : httplib::ClientImpl("localhost"), path_(std::move(path)) {}

 private:
  bool create_and_connect_socket(Socket& socket, httplib::Error& error) override {
    try {
      socket.sock = ConnectToUnix(path_).release();
      return true;
    } catch (const std::system_error&) {
      error = httplib::Error::Connection;
      return false;
    }
  }

  const std::string path_;
};

/// The host at which to ask a server that listens at `address`.
std::string HostOf(const std::string& address) {
  if (address == "0.0.0.0") return "127.0.0.1";
  return address == "::" ? "::1" : address;
}

std::unique_ptr<httplib::ClientImpl> ClientFor(const ProgramOptions& program) {
  if (!program.health_socket.empty()) return std::make_unique<SocketClient>(program.health_socket);
  return std::make_unique<httplib::ClientImpl>(HostOf(program.health_address),
                                               static_cast<int>(program.health_port));
}

}  // namespace

std::optional<HealthAnswer> AskHealth(const ProgramOptions& program, const std::string& path,
                                      std::chrono::seconds time) {
  if (program.health_socket.empty() && program.health_port == 0) return std::nullopt;
  const auto client = ClientFor(program);
  client->set_connection_timeout(time);
  client->set_read_timeout(time);
  const httplib::Result answer = client->Get(path);
  if (!answer) return std::nullopt;
  return HealthAnswer{.is_well = answer->status == 200, .text = answer->body};
}

int PrintHealth(const ProgramOptions& program, const std::string& wanted) {
  constexpr std::chrono::seconds kTime{5};
  if (program.health_socket.empty() && program.health_port == 0)
    throw std::runtime_error("kuryr.conf has it answer nowhere; set socket beside port");
  const auto answer = AskHealth(program, "/" + wanted, kTime);
  if (!answer) {
    throw std::runtime_error("nobody answers at " + (program.health_socket.empty()
                                                         ? program.health_address + " port " +
                                                               std::to_string(program.health_port)
                                                         : program.health_socket));
  }
  std::printf("%s", answer->text.c_str());
  return answer->is_well ? 0 : 1;
}

}  // namespace kuryr::service
