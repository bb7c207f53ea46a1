#include "tests/fake_apiserver/connection.h"

#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace kuryr::fake {

Connection::Connection(UniqueFd socket, const Signal& stop)
    : socket_(std::move(socket)), stop_(stop) {}

Connection::~Connection() {
  pollfd stop{stop_.fd(), POLLIN, 0};
  const bool stopped = ::poll(&stop, 1, 0) != 0;
  if (ssl_ && !aborted_ && !stopped) SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

void Connection::Close() {
  if (ssl_) SSL_shutdown(ssl_.get());
  ssl_.reset();
  const linger until_acknowledged{.l_onoff = 1, .l_linger = 10};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &until_acknowledged,
               sizeof until_acknowledged);
  socket_.reset();
}

Connection::Io Connection::Classify(int ssl_result) const {
  if (ssl_result > 0) return Io::kDone;
  switch (SSL_get_error(ssl_.get(), ssl_result)) {
    case SSL_ERROR_WANT_READ:
      return Io::kWantRead;
    case SSL_ERROR_WANT_WRITE:
      return Io::kWantWrite;
    default:
      return Io::kClosed;
  }
}

bool Connection::PollFor(Io want) const {
  const short events = want == Io::kWantWrite ? POLLOUT : POLLIN;
  std::array<pollfd, 2> fds{pollfd{socket_.get(), events, 0}, pollfd{stop_.fd(), POLLIN, 0}};
  while (::poll(fds.data(), fds.size(), -1) < 0) {
    if (errno != EINTR) return false;
  }
  return fds[1].revents == 0;
}

bool Connection::StartTls(SSL_CTX& context) {
  SslPtr ssl(SSL_new(&context));
  if (!ssl || SSL_set_fd(ssl.get(), socket_.get()) != 1) return false;
  ssl_ = std::move(ssl);
  for (;;) {
    ERR_clear_error();
    const Io io = Classify(SSL_accept(ssl_.get()));
    if (io == Io::kDone) break;
    if (io == Io::kClosed || !PollFor(io)) {
      Abort();
      return false;
    }
  }
  const X509Ptr certificate(SSL_get1_peer_certificate(ssl_.get()));
  if (certificate) peer_common_name_ = CommonName(certificate.get());
  return true;
}

std::string Connection::server_name() const {
  const char* name = ssl_ ? SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name) : nullptr;
  return name != nullptr ? name : "";
}

Connection::Io Connection::ReadOnce() {
  std::array<char, 16384> block;  // as large as a TLS record, so OpenSSL keeps no bytes back
  ssize_t got = 0;
  if (ssl_) {
    ERR_clear_error();
    const int result = SSL_read(ssl_.get(), block.data(), static_cast<int>(block.size()));
    if (result <= 0) return Classify(result);
    got = result;
  } else {
    got = ::recv(socket_.get(), block.data(), block.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Io::kWantRead;
    if (got <= 0) return Io::kClosed;
  }
  input_.append(block.data(), static_cast<size_t>(got));
  return Io::kDone;
}

bool Connection::ReadMore() {
  for (;;) {
    const Io io = ReadOnce();
    if (io == Io::kDone) return true;
    if (io == Io::kClosed || !PollFor(io)) return false;
  }
}

Connection::Io Connection::WriteOnce(std::string_view& bytes) {
  if (ssl_) {
    ERR_clear_error();
    const size_t length = std::min<size_t>(bytes.size(), 16384);
    const int result = SSL_write(ssl_.get(), bytes.data(), static_cast<int>(length));
    if (result <= 0) return Classify(result);
    bytes.remove_prefix(static_cast<size_t>(result));
    return Io::kDone;
  }
  const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR ? Io::kWantWrite : Io::kClosed;
  bytes.remove_prefix(static_cast<size_t>(sent));
  return Io::kDone;
}

bool Connection::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const Io io = WriteOnce(bytes);
    if (io == Io::kDone) continue;
    if (io == Io::kClosed || !PollFor(io)) return false;
  }
  return true;
}

Connection::Wake Connection::WaitUntil(const Signal& signal, Clock::time_point at) {
  for (;;) {
    const Io io = ReadOnce();
    if (io == Io::kClosed) return Wake::kClosed;
    if (io == Io::kDone) continue;

    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at - Clock::now()).count();
    if (left <= 0) return Wake::kTimeout;
    std::array<pollfd, 3> fds{pollfd{socket_.get(), POLLIN, 0}, pollfd{stop_.fd(), POLLIN, 0},
                              pollfd{signal.fd(), POLLIN, 0}};
    const int timeout = static_cast<int>(std::min<decltype(left)>(left, 3'600'000));
    if (::poll(fds.data(), fds.size(), timeout) < 0 && errno != EINTR) return Wake::kClosed;
    if (fds[1].revents != 0) return Wake::kClosed;
    if (fds[2].revents != 0) return Wake::kSignal;
  }
}

void Connection::WaitForClose() {
  // Does not drain the socket, like a server that hangs: the peer's writes stall in the end.
  std::array<pollfd, 2> fds{pollfd{socket_.get(), POLLRDHUP, 0}, pollfd{stop_.fd(), POLLIN, 0}};
  while (::poll(fds.data(), fds.size(), -1) < 0 && errno == EINTR) {
  }
}

}  // namespace kuryr::fake
