#include "tests/fake_apiserver/server.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace kuryr::fake {

Server::Server(const std::string& address, uint16_t port, const std::optional<TlsFiles>& tls,
               Handler handler)
    : tls_(tls ? MakeServerContext(*tls) : nullptr),
      handler_(std::move(handler)),
      listener_(address, port),
      port_(listener_.port()),
      acceptor_([this] { AcceptLoop(); }) {}

Server::~Server() {
  stopping_.Set();
  acceptor_.join();
  {
    const MutexLock lock(mutex_);
    drop_->Set();
  }
  for (Worker& worker : workers_) worker.thread.join();
}

void Server::StopListening(std::optional<std::chrono::milliseconds> time) {
  {
    const MutexLock lock(mutex_);
    listener_.Refuse();
    drop_->Set();
    drop_ = std::make_shared<Signal>();
    listen_again_.reset();
    if (time) listen_again_ = Connection::Clock::now() + *time;
  }
  changed_.Set();
}

void Server::StartListening() {
  {
    const MutexLock lock(mutex_);
    listener_.Listen();
    listen_again_.reset();
  }
  changed_.Set();
}

void Server::HangConnections(int count) {
  const MutexLock lock(mutex_);
  hang_ = count;
}

void Server::AcceptLoop() {
  for (;;) {
    std::array<pollfd, 3> fds{pollfd{stopping_.fd(), POLLIN, 0}, pollfd{changed_.fd(), POLLIN, 0},
                              pollfd{-1, POLLIN, 0}};
    int timeout = -1;
    {
      const MutexLock lock(mutex_);
      if (listen_again_ && *listen_again_ <= Connection::Clock::now()) {
        listener_.Listen();
        listen_again_.reset();
      }
      fds[2].fd = listener_.fd();
      if (listen_again_) {
        timeout = static_cast<int>(
            std::chrono::ceil<std::chrono::milliseconds>(*listen_again_ - Connection::Clock::now())
                .count());
      }
    }
    ::poll(fds.data(), fds.size(), timeout);
    if (fds[0].revents != 0) return;
    changed_.Clear();
    AcceptAll();
    ReapWorkers();
  }
}

void Server::AcceptAll() {
  const MutexLock lock(mutex_);
  if (listener_.fd() < 0) return;
  while (UniqueFd socket = listener_.Accept()) {
    const bool hang = hang_ > 0;
    if (hang) --hang_;
    Worker& worker = workers_.emplace_back();
    worker.thread =
        std::thread([this, fd = socket.release(), stop = drop_, done = worker.done, hang]() {
          Serve(UniqueFd(fd), *stop, hang);
          done->Set();
        });
  }
}

void Server::Serve(UniqueFd socket, const Signal& stop, bool hang) const {
  // OpenSSL writes without MSG_NOSIGNAL.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);

  Connection connection(std::move(socket), stop);
  if (hang) {
    connection.Abort();
    connection.WaitForClose();
  } else if (!tls_ || connection.StartTls(*tls_)) {
    handler_(connection);
  }
}

void Server::ReapWorkers() {
  workers_.remove_if([](Worker& worker) {
    pollfd done{worker.done->fd(), POLLIN, 0};
    if (::poll(&done, 1, 0) <= 0) return false;
    worker.thread.join();
    return true;
  });
}

}  // namespace kuryr::fake
