#include "kubelet/server_connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "kubelet/timeout.h"

namespace kuryr::kubelet {
namespace {

constexpr std::string_view kGrpc = "application/grpc";

Headers AnswerHeaders() { return {{":status", "200"}, {"content-type", std::string(kGrpc)}}; }

Headers TrailersOf(const Status& status) {
  Headers trailers = {{"grpc-status", std::to_string(static_cast<int>(status.code))}};
  if (!status.message.empty()) trailers.emplace_back("grpc-message", PercentEncode(status.message));
  return trailers;
}

}  // namespace

/// An AnswerStream that may outlive its connection, which is null then.
class ServerConnection::Answers final : public AnswerStream {
 public:
  Answers(ServerConnection& connection, int32_t stream)
      : connection_(&connection), stream_(stream) {}

  void Send(const std::string& message) override {
    if (connection_ != nullptr) connection_->Write(stream_, message);
  }
  void Finish(const Status& status) override {
    if (connection_ != nullptr) connection_->Finish(stream_, status);
  }
  [[nodiscard]] bool is_open() const override { return connection_ != nullptr; }
  [[nodiscard]] size_t queued() const override {
    return connection_ == nullptr ? 0 : connection_->session_.Queued(stream_);
  }
  void Detach() noexcept { connection_ = nullptr; }

 private:
  ServerConnection* connection_;
  const int32_t stream_;
};

ServerConnection::Incoming::Incoming(const ServerLimits& limits)
    : reader(limits.message_bytes), asked_by(Clock::now() + limits.asking) {}

ServerConnection::ServerConnection(UniqueFd socket, pid_t process, PollSet& poll,
                                   const Methods& methods, const ServerLimits& limits)
    : process_(process),
      poll_(poll),
      methods_(methods),
      limits_(limits),
      greeted_by_(Clock::now() + limits.asking),
      session_(Http2Session::Role::kServer, std::move(socket), limits.streams, *this) {
  poll_.Add(session_.fd(), EPOLLIN);
}

ServerConnection::~ServerConnection() {
  poll_.Remove(session_.fd());
  for (auto& [stream, call] : calls_) {
    if (call.answers) call.answers->Detach();
  }
  session_.Terminate();
  (void)session_.Send();
}

bool ServerConnection::Advance() {
  if (!session_.Receive()) return false;
  for (const int32_t stream : std::exchange(whole_, {})) Answer(stream);
  return Flush();
}

bool ServerConnection::Expire(Clock::time_point now) {
  if (!session_.is_greeted() && now >= greeted_by_) return false;
  std::vector<int32_t> late;
  for (const auto& [stream, call] : calls_) {
    if (now >= std::min(call.asked_by, call.deadline)) late.push_back(stream);
  }
  for (const int32_t stream : late) EndLate(stream);
  return late.empty() || Flush();
}

ServerConnection::Clock::time_point ServerConnection::alarm() const {
  auto alarm = session_.is_greeted() ? Clock::time_point::max() : greeted_by_;
  for (const auto& [stream, call] : calls_) alarm = std::min({alarm, call.asked_by, call.deadline});
  return alarm;
}

bool ServerConnection::OnHeader(int32_t stream, std::string_view name, std::string_view value) {
  Incoming& call = calls_.try_emplace(stream, limits_).first->second;
  call.header_bytes += name.size() + value.size();
  if (call.header_bytes > limits_.header_bytes) return false;
  if (name == ":path") {
    call.path = value;
  } else if (name == "content-type") {
    call.is_grpc = value.starts_with(kGrpc);
  } else if (name == "grpc-timeout") {
    const auto timeout = ParseTimeout(value);
    const auto now = Clock::now();
    if (!timeout) {
      Refuse(stream, call, {StatusCode::kInvalidArgument, "grpc-timeout is no time"});
    } else if (*timeout < Clock::time_point::max() - now) {
      call.deadline = now + *timeout;
    }
  }
  return true;
}

void ServerConnection::OnData(int32_t stream, std::string_view bytes) {
  const auto found = calls_.find(stream);
  if (found == calls_.end() || found->second.refusal) return;
  try {
    found->second.reader.Add(bytes);
    if (AskedBytes() > limits_.asked_bytes) {
      throw CallError({StatusCode::kResourceExhausted, "the connection's requests have more than " +
                                                           std::to_string(limits_.asked_bytes) +
                                                           " bytes"});
    }
  } catch (const CallError& e) {
    Refuse(stream, found->second, e.status());
  }
}

void ServerConnection::OnEnd(int32_t stream) {
  const auto found = calls_.find(stream);
  if (found != calls_.end() && !found->second.refusal) whole_.push_back(stream);
}

void ServerConnection::OnClosed(int32_t stream, uint32_t /*error*/) {
  const auto found = calls_.find(stream);
  if (found == calls_.end()) return;
  if (found->second.answers) found->second.answers->Detach();
  calls_.erase(found);
  if (calls_.empty()) idle_since_ = Clock::now();
}

size_t ServerConnection::AskedBytes() const {
  return std::accumulate(calls_.begin(), calls_.end(), size_t{0}, [](size_t sum, const auto& call) {
    return sum + call.second.reader.size();
  });
}

void ServerConnection::Refuse(int32_t stream, Incoming& call, Status status) {
  if (call.refusal || call.answered) return;
  call.refusal = std::move(status);
  call.reader = FrameReader(limits_.message_bytes);
  whole_.push_back(stream);
}

/// Takes the stream's number and no reference, because sending may close streams.
void ServerConnection::Answer(int32_t stream) {
  const auto found = calls_.find(stream);
  if (found == calls_.end() || found->second.answered) return;
  Incoming& call = found->second;
  call.answered = true;
  try {
    if (call.refusal) throw CallError(*call.refusal);
    if (!call.is_grpc) return session_.AnswerEmpty(stream, {{":status", "415"}});
    const std::string request = call.reader.Take();
    if (const auto unary = methods_.unary.find(call.path); unary != methods_.unary.end())
      return AnswerUnary(stream, unary->second, request);
    const auto streaming = methods_.streaming.find(call.path);
    if (streaming == methods_.streaming.end())
      throw CallError({StatusCode::kUnimplemented, "no method " + call.path});
    AnswerStreaming(stream, streaming->second, request);
  } catch (const CallError& e) {
    AnswerStatus(stream, e.status());
  } catch (const std::exception& e) {
    AnswerStatus(stream, {StatusCode::kInternal, e.what()});
  }
}

void ServerConnection::AnswerUnary(int32_t stream, const UnaryHandler& handler,
                                   const std::string& request) {
  const std::string message = handler(request);
  const auto call = calls_.find(stream);
  if (call == calls_.end()) return;
  call->second.asked_by = Clock::now() + limits_.asking;
  session_.BeginAnswer(stream, AnswerHeaders());
  session_.Write(stream, Frame(message));
  session_.EndAnswer(stream, TrailersOf({}));
}

void ServerConnection::AnswerStreaming(int32_t stream, const StreamHandler& handler,
                                       const std::string& request) {
  const auto answers = std::make_shared<Answers>(*this, stream);
  Incoming& call = calls_.at(stream);
  call.asked_by = Clock::time_point::max();
  call.answers = answers;
  session_.BeginAnswer(stream, AnswerHeaders());
  handler(request, answers);
}

void ServerConnection::AnswerStatus(int32_t stream, const Status& status) {
  const auto call = calls_.find(stream);
  if (call == calls_.end()) return;
  if (call->second.answers) return Finish(stream, status);
  Headers headers = AnswerHeaders();
  for (auto& trailer : TrailersOf(status)) headers.push_back(std::move(trailer));
  session_.AnswerEmpty(stream, headers);
}

void ServerConnection::Write(int32_t stream, const std::string& message) {
  if (session_.Queued() + message.size() > limits_.queued_bytes) {
    Reset(stream, NGHTTP2_ENHANCE_YOUR_CALM);
  } else {
    session_.Write(stream, Frame(message));
  }
  Flush();
}

void ServerConnection::Finish(int32_t stream, const Status& status) {
  Incoming& call = calls_.at(stream);
  call.answers->Detach();
  call.asked_by = Clock::now() + limits_.asking;
  session_.EndAnswer(stream, TrailersOf(status));
  Flush();
}

void ServerConnection::EndLate(int32_t stream) {
  const auto call = calls_.find(stream);
  if (call == calls_.end()) return;
  const auto& answers = call->second.answers;
  if (!answers || !answers->is_open()) return Reset(stream, NGHTTP2_CANCEL);
  // Without a status, a gRPC client whose clock has not reached the deadline reports CANCELLED.
  call->second.deadline = Clock::time_point::max();
  Finish(stream, {StatusCode::kDeadlineExceeded, "the call's deadline is over"});
}

void ServerConnection::Reset(int32_t stream, uint32_t error) {
  const auto call = calls_.find(stream);
  if (call == calls_.end()) return;
  if (call->second.answers) call->second.answers->Detach();
  call->second.asked_by = call->second.deadline = Clock::time_point::max();
  session_.Reset(stream, error);
}

bool ServerConnection::Flush() {
  const bool open = session_.Send();
  // The shutdown makes the socket ready, so that Advance() finds the end.
  if (!open) ::shutdown(session_.fd(), SHUT_RDWR);
  if (session_.is_blocked() != waits_to_write_) {
    waits_to_write_ = session_.is_blocked();
    poll_.Change(session_.fd(), waits_to_write_ ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }
  return open;
}

}  // namespace kuryr::kubelet
