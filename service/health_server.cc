#include "service/health_server.h"

#include <httplib.h>

#include <chrono>
#include <exception>
#include <semaphore>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/event_fd.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "service/metrics_text.h"
#include "service/timed_stream.h"

namespace kuryr::service {
namespace {

constexpr int kOk = 200;
constexpr int kNotFound = 404;
constexpr int kNotAllowed = 405;
constexpr int kFailed = 500;
constexpr size_t kThreads = 4;
/// To ask, and again to take the answer: so long may a stranger hold one of the threads.
constexpr std::chrono::seconds kHttpTime{2};

/// With all threads at work further connections wait in the kernel's backlog.
class BoundedPool : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> act) override {
    free_.acquire();
    pool_.enqueue([this, act = std::move(act)] {
      act();
      free_.release();
    });
  }
  void shutdown() override { pool_.shutdown(); }

 private:
  std::counting_semaphore<kThreads> free_{kThreads};
  httplib::ThreadPool pool_{kThreads};
};

/// Without SO_REUSEPORT: a second server at the port has to fail.
void ReuseAddress(socket_t socket) {
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
}

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
  /// One request of each connection.
  class TimedServer : public httplib::Server {
   public:
    /// Ends the connections, too.
    void Stop() {
      stopped_.Set();
      stop();
    }

   private:
    bool process_and_close_socket(socket_t socket) override {
      const UniqueFd connection(socket);
      TimedStream stream(socket, kHttpTime, stopped_.fd());
      constexpr bool kIsLast = true;
      bool is_closed = false;
      const bool served = process_request(stream, kIsLast, is_closed, nullptr);
      ::shutdown(socket, SHUT_RDWR);
      return served;
    }

    const EventFd stopped_;
  };

 public:
  Listener(const std::string& address, uint16_t port, HealthChecks checks)
      : checks_(std::move(checks)) {
    server_.new_task_queue = [] { return new BoundedPool; };
    server_.set_socket_options(ReuseAddress);
    server_.set_pre_routing_handler([this](const auto& request, auto& response) {
      ServeCaught(request, response);
      return httplib::Server::HandlerResponse::Handled;
    });
    if (!server_.bind_to_port(address, port))
      ThrowErrno("listen at " + address + " port " + std::to_string(port));
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    // Before that it could not be stopped.
    while (!server_.is_running()) std::this_thread::yield();
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() { server_.Stop(); }

 private:
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
  TimedServer server_;
  std::jthread thread_;
};

HealthServer::HealthServer(const std::string& address, uint16_t port, HealthChecks checks)
    : listener_(std::make_unique<Listener>(address, port, std::move(checks))) {}

HealthServer::~HealthServer() = default;

}  // namespace kuryr::service
