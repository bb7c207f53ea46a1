#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/releaser.h"
#include "base/unique_fd.h"

namespace kuryr::kubelet {

/// A session's callbacks for its streams. The session calls them in Receive and Send; they may call
/// its other functions. An exception ends the connection.
class Http2Events {
 public:
  virtual ~Http2Events() = default;

  /// Called for each header or trailer. Returns false to end the connection, because they are too
  /// long.
  [[nodiscard]] virtual bool OnHeader(int32_t stream, std::string_view name,
                                      std::string_view value) = 0;
  virtual void OnData(int32_t stream, std::string_view bytes) = 0;
  /// The peer has ended the stream on its side.
  virtual void OnEnd(int32_t stream) = 0;
  /// `error` is HTTP/2's code, 0 for none.
  virtual void OnClosed(int32_t stream, uint32_t error) = 0;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

/// One side of an unencrypted HTTP/2 connection over a non-blocking socket. It answers PING and
/// does flow control. It does not check the form of HTTP messages, because kubelets before 2022
/// send a path as :authority. Not thread-safe.
class Http2Session {
 public:
  enum class Role { kClient, kServer };

  /// `most_streams` limits the peer's concurrent streams. `events` is borrowed.
  Http2Session(Role role, UniqueFd socket, uint32_t most_streams, Http2Events& events);
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  /// Reads some of the bytes that have come. False when the connection is over.
  [[nodiscard]] bool Receive();
  /// Writes as much as the socket takes. False when the connection is over.
  [[nodiscard]] bool Send();
  /// Whether the socket took only a part of the last Send().
  [[nodiscard]] bool is_blocked() const noexcept { return blocked_; }
  /// Whether the peer has spoken HTTP/2.
  [[nodiscard]] bool is_greeted() const noexcept { return greeted_; }

  /// Sends a client's request. Returns its stream.
  [[nodiscard]] int32_t Ask(const Headers& headers, std::string body);
  /// Begin a server's answer with headers; any number of writes and the trailers follow.
  void BeginAnswer(int32_t stream, const Headers& headers);
  void Write(int32_t stream, std::string bytes);
  void EndAnswer(int32_t stream, Headers trailers);
  /// Sends a server's answer of only headers.
  void AnswerEmpty(int32_t stream, const Headers& headers);
  /// Bytes that were written but not sent yet.
  [[nodiscard]] size_t Queued(int32_t stream) const;
  [[nodiscard]] size_t Queued() const;  ///< of all streams
  /// Ends the stream with HTTP/2's code `error`.
  void Reset(int32_t stream, uint32_t error);
  /// Tells the peer that the connection ends (GOAWAY).
  void Terminate() noexcept;

 private:
  using SessionPtr = std::unique_ptr<nghttp2_session, Releaser<nghttp2_session_del>>;

  /// The bytes to send on a stream.
  struct Body {
    std::deque<std::string> parts;
    size_t sent = 0;  ///< of the first one
    size_t size = 0;  ///< of all that is not sent
    bool ended = false;
    Headers trailers;
  };
  struct Callbacks;

  [[nodiscard]] SessionPtr Make(Role role);
  [[nodiscard]] ssize_t Read(int32_t stream, size_t most, uint8_t* target, uint32_t* flags);
  void Close(int32_t stream, uint32_t error);

  UniqueFd socket_;
  Http2Events& events_;
  std::map<int32_t, Body> bodies_;
  std::string_view unsent_;  ///< the session's own memory
  bool blocked_ = false;
  bool greeted_ = false;
  SessionPtr session_;
};

}  // namespace kuryr::kubelet
