#include "service/health_server.h"

#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/event_fd.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "service/client_queue.h"
#include "service/health_socket.h"
#include "service/metrics_text.h"
#include "service/timed_stream.h"

namespace kuryr::service {
namespace {

constexpr int kOk = 200;
constexpr int kNotFound = 404;
constexpr int kNotAllowed = 405;
constexpr int kFailed = 500;
constexpr size_t kThreads = 8;
/// A client's time to ask, and again to take the answer. A stranger can hold a thread that long.
constexpr std::chrono::seconds kHttpTime{2};
/// The pause after a lack of descriptors or memory.
constexpr std::chrono::milliseconds kScarcity{100};

void Answer(httplib::Response& response, int status, const std::string& text) {
  response.status = status;
  response.set_content(text + "\n", "text/plain; charset=utf-8");
}

void Check(const HealthChecks::Problem& find_problem, httplib::Response& response) {
  const auto problem = find_problem();
  Answer(response, problem ? kFailed : kOk, problem.value_or("ok"));
}

void Serve(const HealthChecks& checks, const httplib::Request& request,
           httplib::Response& response) {
  if (request.path != "/alive" && request.path != "/ready" && request.path != "/metrics")
    return Answer(response, kNotFound, "there are /alive, /ready and /metrics");
  if (request.method != "GET") {
    response.set_header("Allow", "GET");
    return Answer(response, kNotAllowed, "GET only");
  }
  if (request.path == "/alive") return Check(checks.why_not_alive, response);
  if (request.path == "/ready") return Check(checks.why_not_ready, response);
  response.set_content(checks.metrics(), MetricsText::kContentType);
}

}  // namespace

class HealthServer::Listener {
  /// httplib's part: one request of each connection.
  class OneRequest : public httplib::Server {
   public:
    void Serve(TimedStream& stream) {
      Process(*this, stream);
      ::shutdown(stream.socket(), SHUT_RDWR);
    }

   private:
    /// httplib 0.18 wants the addresses of both ends, too.
    template <typename Server>
    static void Process(Server& server, TimedStream& stream) {
      constexpr bool kIsLast = true;
      bool is_closed = false;
      if constexpr (requires { server.process_request(stream, kIsLast, is_closed, nullptr); })
        (void)server.process_request(stream, kIsLast, is_closed, nullptr);
      else
        (void)server.process_request(stream, "", 0, "", 0, kIsLast, is_closed, nullptr);
    }
  };

 public:
  Listener(const std::string& address, uint16_t port, HealthChecks checks)
      : checks_(std::move(checks)), socket_(ListenForHealth(address, port)) {
    http_.set_pre_routing_handler([this](const auto& request, auto& response) {
      ServeCaught(request, response);
      return httplib::Server::HandlerResponse::Handled;
    });
    for (std::jthread& worker : workers_)
      worker = std::jthread([this](const std::stop_token& stop) { Work(stop); });
    acceptor_ = std::jthread([this] { Accept(); });
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  /// Also ends the connections.
  ~Listener() { stopped_.Set(); }

 private:
  void Accept() {
    const auto wait = [this](int fd, int milliseconds) {
      std::array<pollfd, 2> fds = {{{.fd = stopped_.fd(), .events = POLLIN, .revents = 0},
                                    {.fd = fd, .events = POLLIN, .revents = 0}}};
      (void)::poll(fds.data(), fds.size(), milliseconds);
      return fds[0].revents == 0;
    };
    while (wait(socket_.get(), -1)) {
      UniqueFd connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (connection) {
        auto stream = std::make_unique<TimedStream>(connection.get(), kHttpTime, stopped_.fd());
        queue_.Add({.client = ClientOf(connection.get()),
                    .socket = std::move(connection),
                    .stream = std::move(stream)});
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        (void)wait(-1, static_cast<int>(kScarcity.count()));
      }
    }
  }
  void Work(const std::stop_token& stop) {
    while (true) {
      const ClientQueue::Connection next = queue_.Next(stop);
      if (!next.stream) return;
      http_.Serve(*next.stream);
      queue_.End(next.client);
    }
  }
  void ServeCaught(const httplib::Request& request, httplib::Response& response) {
    try {
      Serve(checks_, request, response);
    } catch (const std::exception& e) {
      Log(LogLevel::kError, "a question about health failed",
          {{"path", request.path}, {"error", e.what()}});
      Answer(response, kFailed, e.what());
    }
  }

  const HealthChecks checks_;
  const EventFd stopped_;
  const UniqueFd socket_;
  OneRequest http_;
  ClientQueue queue_;
  std::array<std::jthread, kThreads> workers_;
  std::jthread acceptor_;  // last: it uses all of the above
};

HealthServer::HealthServer(const std::string& address, uint16_t port, HealthChecks checks)
    : listener_(std::make_unique<Listener>(address, port, std::move(checks))) {}

HealthServer::~HealthServer() = default;

}  // namespace kuryr::service
