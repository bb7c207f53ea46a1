#include "kubelet/unary_call.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/unix_socket.h"
#include "kubelet/frame.h"
#include "kubelet/http2_session.h"
#include "kubelet/poll_set.h"
#include "kubelet/timeout.h"

namespace kuryr::kubelet {
namespace {

constexpr size_t kMostHeaderBytes = size_t{64} << 10;
/// The server may open no streams.
constexpr uint32_t kNoStreams = 0;

Headers HeadersOf(const CallRequest& request, const Deadline& deadline) {
  Headers headers = {{":method", "POST"},
                     {":scheme", "http"},
                     {":path", request.method},
                     {":authority", "localhost"},
                     {"content-type", "application/grpc"},
                     {"te", "trailers"},
                     {"user-agent", "kuryr-cni/" KURYR_VERSION}};
  if (deadline.at != Deadline::Clock::time_point::max())
    headers.emplace_back("grpc-timeout", FormatTimeout(deadline.Remaining()));
  return headers;
}

/// grpc/grpc, doc/http-grpc-status-mapping.md.
StatusCode CodeOfHttp(std::string_view status) {
  if (status == "400") return StatusCode::kInternal;
  if (status == "401") return StatusCode::kUnauthenticated;
  if (status == "403") return StatusCode::kPermissionDenied;
  if (status == "404") return StatusCode::kUnimplemented;
  const bool later = status == "429" || status == "502" || status == "503" || status == "504";
  return later ? StatusCode::kUnavailable : StatusCode::kUnknown;
}

/// gRPC over HTTP/2, "Errors".
StatusCode CodeOfReset(uint32_t error) {
  switch (error) {
    case NGHTTP2_REFUSED_STREAM:
      return StatusCode::kUnavailable;
    case NGHTTP2_CANCEL:
      return StatusCode::kCancelled;
    case NGHTTP2_ENHANCE_YOUR_CALM:
      return StatusCode::kResourceExhausted;
    default:
      return StatusCode::kInternal;
  }
}

}  // namespace

class UnaryCall::State final : private Http2Events {
 public:
  State(UniqueFd socket, const CallRequest& request, const Deadline& deadline)
      : deadline_(deadline.at),
        reader_(request.most_bytes),
        session_(Http2Session::Role::kClient, std::move(socket), kNoStreams, *this) {
    poll_.Add(session_.fd(), EPOLLIN);
    poll_.SetAlarm(deadline_);
    stream_ = session_.Ask(HeadersOf(request, deadline), Frame(request.message));
    if (!session_.Send()) Fail({StatusCode::kUnavailable, "the connection was closed"});
    AwaitSocket();
  }

  [[nodiscard]] int fd() const noexcept { return poll_.fd(); }

  bool Advance() {
    if (over_) return true;
    (void)poll_.Ready();
    if (!session_.Receive() || !session_.Send())
      Fail({StatusCode::kUnavailable, "the connection was closed before the answer had come"});
    if (Deadline::Clock::now() >= deadline_)
      Fail({StatusCode::kDeadlineExceeded, "no answer in time"});
    AwaitSocket();
    return over_;
  }

  [[nodiscard]] std::string TakeAnswer() {
    if (status_.code != StatusCode::kOk) throw CallError(status_);
    return reader_.Take();
  }

 private:
  [[nodiscard]] bool OnHeader(int32_t /*stream*/, std::string_view name,
                              std::string_view value) override {
    header_bytes_ += name.size() + value.size();
    if (header_bytes_ > kMostHeaderBytes) {
      Fail({StatusCode::kInternal,
            "more than " + std::to_string(kMostHeaderBytes) + " bytes of headers"});
      return false;
    }
    if (name == ":status") http_status_ = value;
    if (name == "grpc-status") grpc_status_ = ParseStatusCode(value);
    if (name == "grpc-message") grpc_message_ = PercentDecode(value);
    return true;
  }

  void OnData(int32_t /*stream*/, std::string_view bytes) override {
    if (over_) return;
    try {
      reader_.Add(bytes);
    } catch (const CallError& e) {
      Fail(e.status());
      session_.Reset(stream_, NGHTTP2_CANCEL);
    }
  }

  void OnEnd(int32_t stream) override {
    if (stream == stream_) Conclude(NGHTTP2_NO_ERROR);
  }

  void OnClosed(int32_t stream, uint32_t error) override {
    if (stream == stream_) Conclude(error);
  }

  /// Ends the call; nothing more will come from the server.
  void Conclude(uint32_t error) {
    if (grpc_status_) return Fail({*grpc_status_, grpc_message_});
    if (error != NGHTTP2_NO_ERROR)
      return Fail({CodeOfReset(error), std::string("reset: ") + nghttp2_http2_strerror(error)});
    if (http_status_ != "200")
      return Fail({CodeOfHttp(http_status_), "HTTP status " + http_status_});
    Fail({StatusCode::kInternal, "no grpc-status"});
  }

  /// Keeps the first status, which may be OK.
  void Fail(Status status) {
    if (std::exchange(over_, true)) return;
    status_ = std::move(status);
  }

  void AwaitSocket() {
    poll_.Change(session_.fd(), session_.is_blocked() ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }

  const Deadline::Clock::time_point deadline_;
  PollSet poll_;
  FrameReader reader_;
  size_t header_bytes_ = 0;
  std::string http_status_;
  std::optional<StatusCode> grpc_status_;
  std::string grpc_message_;
  bool over_ = false;
  Status status_;
  int32_t stream_ = 0;
  Http2Session session_;
};

UnaryCall::UnaryCall(const CallRequest& request, const Deadline& deadline)
    : UnaryCall(ConnectToUnix(request.socket), request, deadline) {}

UnaryCall::UnaryCall(UniqueFd socket, const CallRequest& request, const Deadline& deadline)
    : state_(std::make_unique<State>(std::move(socket), request, deadline)) {}

UnaryCall::~UnaryCall() = default;

int UnaryCall::fd() const noexcept { return state_->fd(); }

bool UnaryCall::Advance() { return state_->Advance(); }

std::string UnaryCall::TakeAnswer() { return state_->TakeAnswer(); }

std::string Call(const CallRequest& request, const Deadline& deadline) {
  UnaryCall call(request, deadline);
  while (!call.Advance()) {
    std::array<pollfd, 2> fds = {{{.fd = call.fd(), .events = POLLIN, .revents = 0},
                                  {.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0}}};
    const std::string what = "call " + request.method + " at " + request.socket;
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) ThrowErrno(what);
    if (fds[1].revents != 0) ThrowErrno(ECANCELED, what);
  }
  return call.TakeAnswer();
}

}  // namespace kuryr::kubelet
