// A Kubernetes API server in memory for demos and shell tests; see README.md.

#include <getopt.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "tests/fake_apiserver/fake_api_server.h"

namespace {

constexpr const char* kUsage = R"(Usage: fake-apiserver [OPTION]...
Keeps Kubernetes objects in memory and serves them. Prints its URL and runs until SIGTERM.

  --address ADDRESS   listen on this IPv4 or IPv6 address (127.0.0.1)
  --port PORT         listen on this port (0: a free one)
  --tls-dir DIR       serve https with server.crt and server.key of DIR (see make-certs)
  --client-certs      with --tls-dir: clients need a certificate signed by ca.crt of DIR
  --token TOKEN       who sends TOKEN may do everything, and nobody else (without: everybody)
  --help
)";

uint16_t ParsePort(const std::string& text) {
  uint16_t port = 0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, port).ptr != end || text.empty()) {
    throw std::runtime_error("--port: found \"" + text + "\", expected a number");
  }
  return port;
}

/// Exits for --help and for options that do not exist.
kuryr::fake::Options ParseArguments(int argc, char** argv) {
  static constexpr option kOptions[] = {{"address", required_argument, nullptr, 'a'},
                                        {"port", required_argument, nullptr, 'p'},
                                        {"tls-dir", required_argument, nullptr, 'd'},
                                        {"client-certs", no_argument, nullptr, 'c'},
                                        {"token", required_argument, nullptr, 't'},
                                        {"help", no_argument, nullptr, 'h'},
                                        {nullptr, 0, nullptr, 0}};
  kuryr::fake::Options options;
  std::string tls_dir;
  bool client_certs = false;
  for (int c = 0; (c = ::getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    if (c == 'a') options.address = optarg;
    if (c == 'p') options.port = ParsePort(optarg);
    if (c == 'd') tls_dir = optarg;
    if (c == 'c') client_certs = true;
    if (c == 't') options.users.push_back({.name = "admin", .token = optarg});
    if (c == 'h' || c == '?') {
      (c == 'h' ? std::cout : std::cerr) << kUsage;
      std::exit(c == 'h' ? EXIT_SUCCESS : 2);
    }
  }
  if (!tls_dir.empty()) {
    options.tls = kuryr::fake::TlsFiles{.certificate = tls_dir + "/server.crt",
                                        .key = tls_dir + "/server.key",
                                        .client_ca = client_certs ? tls_dir + "/ca.crt" : "",
                                        .require_client_certificate = client_certs};
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const kuryr::fake::Options options = ParseArguments(argc, argv);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);

    const kuryr::fake::FakeApiServer server(options);
    std::cout << server.url() << '\n' << std::flush;
    int received = 0;
    ::sigwait(&signals, &received);
    return EXIT_SUCCESS;
  } catch (const std::exception& e) {
    std::cerr << "fake-apiserver: " << e.what() << '\n';
    return EXIT_FAILURE;
  }
}
