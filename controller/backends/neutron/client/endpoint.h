#pragma once

#include <list>
#include <memory>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/neutron/client/http_connection.h"

namespace kuryr::controller::neutron {

/// One server, over as many connections as there are requests at a time; each is kept for the next
/// request. Thread-safe.
class Endpoint {
 public:
  explicit Endpoint(HttpServer server) : server_(std::move(server)) {}
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  /// As HttpConnection::Send.
  [[nodiscard]] HttpAnswer Send(const HttpRequest& request) EXCLUDES(mutex_);

  /// For good: requests under way end at once, as does every later one.
  void Stop() noexcept EXCLUDES(mutex_);

  [[nodiscard]] const HttpServer& server() const noexcept { return server_; }

 private:
  class Lease;

  [[nodiscard]] HttpConnection* Borrow() EXCLUDES(mutex_);
  void Return(HttpConnection* connection) EXCLUDES(mutex_);

  const HttpServer server_;
  Mutex mutex_;
  std::list<HttpConnection> connections_ GUARDED_BY(mutex_);
  std::vector<HttpConnection*> idle_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace kuryr::controller::neutron
