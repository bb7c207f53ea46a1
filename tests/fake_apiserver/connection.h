#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "tests/fake_apiserver/socket.h"
#include "tests/fake_apiserver/tls.h"

namespace kuryr::fake {

/// An accepted connection, plain or TLS. Belongs to one thread. Every wait ends as soon as `stop`
/// is set, which counts as closed; so does every error of the socket.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Wake { kSignal, kTimeout, kClosed };

  /// `stop` outlives the connection.
  Connection(UniqueFd socket, const Signal& stop);
  /// Closes in order, with TLS's close_notify, unless Abort() was called or `stop` is set.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// False when the handshake fails.
  [[nodiscard]] bool StartTls(SSL_CTX& context);
  /// The common name in the client's verified certificate; empty when it sent none.
  [[nodiscard]] const std::string& peer_common_name() const noexcept { return peer_common_name_; }

  /// The server name that the client asked for (SNI); empty if none.
  [[nodiscard]] std::string server_name() const;

  /// Bytes received and not yet used; the caller removes what it has used.
  [[nodiscard]] std::string& input() noexcept { return input_; }
  /// Waits for more bytes and appends them to input(). False when the peer has closed.
  [[nodiscard]] bool ReadMore();
  /// Sends the bytes. False when the peer has closed; a part may have gone out.
  [[nodiscard]] bool Write(std::string_view bytes);

  /// Waits until `signal` is set, the time is reached, or the peer closes. Meanwhile it reads what
  /// the peer sends.
  [[nodiscard]] Wake WaitUntil(const Signal& signal, Clock::time_point at);
  /// Waits until the peer closes or the server stops.
  void WaitForClose();

  /// Closes in order, at once; on return, the peer's kernel knows. The connection cannot be used
  /// any more.
  void Close();
  /// Makes the end abrupt, as when the server is killed: no close_notify.
  void Abort() noexcept { aborted_ = true; }

 private:
  enum class Io { kDone, kWantRead, kWantWrite, kClosed };

  [[nodiscard]] Io ReadOnce();
  [[nodiscard]] Io WriteOnce(std::string_view& bytes);
  [[nodiscard]] Io Classify(int ssl_result) const;
  /// False when the server stops.
  [[nodiscard]] bool PollFor(Io want) const;

  UniqueFd socket_;
  const Signal& stop_;
  SslPtr ssl_;
  std::string peer_common_name_;
  std::string input_;
  bool aborted_ = false;
};

}  // namespace kuryr::fake
