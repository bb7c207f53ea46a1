#include "controller/backends/neutron/client/endpoint.h"

namespace kuryr::controller::neutron {

/// One connection for one request.
class Endpoint::Lease {
 public:
  explicit Lease(Endpoint& endpoint) : endpoint_(endpoint), connection_(endpoint.Borrow()) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { endpoint_.Return(connection_); }

  HttpConnection* operator->() const { return connection_; }

 private:
  Endpoint& endpoint_;
  HttpConnection* const connection_;
};

HttpConnection* Endpoint::Borrow() {
  const MutexLock lock(mutex_);
  if (idle_.empty()) {
    HttpConnection& connection = connections_.emplace_back(server_);
    idle_.reserve(connections_.size());
    if (stopped_) connection.Stop();
    return &connection;
  }
  // The newest is the likeliest to be open yet.
  HttpConnection* connection = idle_.back();
  idle_.pop_back();
  return connection;
}

void Endpoint::Return(HttpConnection* connection) {
  const MutexLock lock(mutex_);
  idle_.push_back(connection);
}

HttpAnswer Endpoint::Send(const HttpRequest& request) {
  const Lease connection(*this);
  return connection->Send(request);
}

void Endpoint::Stop() noexcept {
  const MutexLock lock(mutex_);
  stopped_ = true;
  for (HttpConnection& connection : connections_) connection.Stop();
}

}  // namespace kuryr::controller::neutron
