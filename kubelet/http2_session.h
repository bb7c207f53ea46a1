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

/// What a session tells of its streams. Called while it receives or sends; may call its functions
/// other than those two. What is thrown ends the connection.
class Http2Events {
 public:
  virtual ~Http2Events() = default;

  /// Of the headers, or the trailers. False ends the connection: they are too long.
  [[nodiscard]] virtual bool OnHeader(int32_t stream, std::string_view name,
                                      std::string_view value) = 0;
  virtual void OnData(int32_t stream, std::string_view bytes) = 0;
  /// The peer has said all.
  virtual void OnEnd(int32_t stream) = 0;
  /// `error`: HTTP/2's, 0 for none.
  virtual void OnClosed(int32_t stream, uint32_t error) = 0;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

/// One side of an HTTP/2 connection, in the clear, over a socket that does not block. PING and flow
/// control are answered here. How a message of HTTP has to look is not checked: kubelets before
/// 2022 send a path as :authority. Not thread-safe.
class Http2Session {
 public:
  enum class Role { kClient, kServer };

  /// `most_streams`: of the peer, at a time. `events` is borrowed.
  Http2Session(Role role, UniqueFd socket, uint32_t most_streams, Http2Events& events);
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  /// Reads some of what has come. False when the connection is over.
  [[nodiscard]] bool Receive();
  /// Writes as much as the socket takes. False when the connection is over.
  [[nodiscard]] bool Send();
  /// Whether the socket took less than there was.
  [[nodiscard]] bool is_blocked() const noexcept { return blocked_; }
  /// Whether the peer has spoken HTTP/2.
  [[nodiscard]] bool is_greeted() const noexcept { return greeted_; }

  /// A client's request. Returns its stream.
  [[nodiscard]] int32_t Ask(const Headers& headers, std::string body);
  /// A server's answer: headers, any number of writes, trailers.
  void BeginAnswer(int32_t stream, const Headers& headers);
  void Write(int32_t stream, std::string bytes);
  void EndAnswer(int32_t stream, Headers trailers);
  /// Headers alone.
  void AnswerEmpty(int32_t stream, const Headers& headers);
  /// Bytes written that are not sent yet.
  [[nodiscard]] size_t Queued(int32_t stream) const;
  /// `error`: HTTP/2's.
  void Reset(int32_t stream, uint32_t error);
  /// Tells the peer that it is over (GOAWAY).
  void Terminate() noexcept;

 private:
  using SessionPtr = std::unique_ptr<nghttp2_session, Releaser<nghttp2_session_del>>;

  /// What is to be sent on a stream.
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
