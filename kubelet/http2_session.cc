#include "kubelet/http2_session.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>
#include <stdexcept>

namespace kuryr::kubelet {
namespace {

/// Bytes that the peer may send without a window update: answers of several MB come in few rounds.
constexpr int32_t kWindow = 1 << 20;
/// Reads of one Receive, so that other connections get their turn.
constexpr int kRounds = 16;

int Require(int result, const char* what) {
  if (result < 0) throw std::runtime_error(std::string(what) + ": " + nghttp2_strerror(result));
  return result;
}

std::string_view Text(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// Borrows the headers, which nghttp2 copies.
std::vector<nghttp2_nv> FieldsOf(const Headers& headers) {
  const auto bytes = [](const std::string& text) {
    return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  };
  std::vector<nghttp2_nv> fields;
  for (const auto& [name, value] : headers) {
    fields.push_back({.name = bytes(name),
                      .value = bytes(value),
                      .namelen = name.size(),
                      .valuelen = value.size(),
                      .flags = NGHTTP2_NV_FLAG_NONE});
  }
  return fields;
}

/// Catches exceptions: none may cross C code.
template <typename Act>
int Guarded(const Act& act) noexcept {
  try {
    return act();
  } catch (...) {
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
}

}  // namespace

// NOLINTBEGIN(readability-function-size): nghttp2 says how many parameters.
struct Http2Session::Callbacks {
  static Http2Session& Self(void* session) { return *static_cast<Http2Session*>(session); }

  static int OnHeader(nghttp2_session* /*session*/, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t /*flags*/,
                      void* self) {
    return Guarded([&] {
      const bool taken = Self(self).events_.OnHeader(frame->hd.stream_id, Text(name, name_size),
                                                     Text(value, value_size));
      return taken ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
    });
  }

  static int OnData(nghttp2_session* /*session*/, uint8_t /*flags*/, int32_t stream,
                    const uint8_t* bytes, size_t size, void* self) {
    return Guarded([&] {
      Self(self).events_.OnData(stream, Text(bytes, size));
      return 0;
    });
  }

  static int OnFrame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* self) {
    return Guarded([&] {
      Self(self).greeted_ = true;
      const bool ends = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
      if (ends && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
        Self(self).events_.OnEnd(frame->hd.stream_id);
      return 0;
    });
  }

  static int OnClose(nghttp2_session* /*session*/, int32_t stream, uint32_t error, void* self) {
    return Guarded([&] {
      Self(self).Close(stream, error);
      return 0;
    });
  }

  static ssize_t Read(nghttp2_session* /*session*/, int32_t stream, uint8_t* target, size_t size,
                      uint32_t* flags, nghttp2_data_source* /*source*/, void* self) {
    try {
      return Self(self).Read(stream, size, target, flags);
    } catch (...) {
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }
};
// NOLINTEND(readability-function-size)

Http2Session::Http2Session(Role role, UniqueFd socket, uint32_t most_streams, Http2Events& events)
    : socket_(std::move(socket)), events_(events), session_(Make(role)) {
  const std::array<nghttp2_settings_entry, 3> settings = {
      {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, most_streams},
       {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow},
       {NGHTTP2_SETTINGS_ENABLE_PUSH, 0}}};
  // Only a client sends the last setting.
  const size_t count = role == Role::kClient ? settings.size() : settings.size() - 1;
  Require(nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings.data(), count),
          "HTTP/2 settings");
  Require(nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0, kWindow),
          "HTTP/2 window");
}

Http2Session::SessionPtr Http2Session::Make(Role role) {
  nghttp2_session_callbacks* callbacks = nullptr;
  Require(nghttp2_session_callbacks_new(&callbacks), "HTTP/2");
  const std::unique_ptr<nghttp2_session_callbacks, Releaser<nghttp2_session_callbacks_del>> owned(
      callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::OnHeader);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::OnData);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::OnFrame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::OnClose);
  nghttp2_option* option = nullptr;
  Require(nghttp2_option_new(&option), "HTTP/2");
  const std::unique_ptr<nghttp2_option, Releaser<nghttp2_option_del>> owned_option(option);
  nghttp2_option_set_no_http_messaging(option, 1);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_session* session = nullptr;
  const auto make =
      role == Role::kClient ? nghttp2_session_client_new2 : nghttp2_session_server_new2;
  Require(make(&session, callbacks, this, option), "HTTP/2");
  return SessionPtr(session);
}

bool Http2Session::Receive() {
  std::array<uint8_t, 16384> buffer{};
  for (int round = 0; round < kRounds; ++round) {
    const ssize_t size = ::recv(fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN;
    if (size == 0) return false;
    if (nghttp2_session_mem_recv(session_.get(), buffer.data(), static_cast<size_t>(size)) < 0)
      return false;
  }
  return true;
}

bool Http2Session::Send() {
  blocked_ = false;
  while (true) {
    if (unsent_.empty()) {
      const uint8_t* bytes = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
      if (size < 0) return false;
      if (size == 0) break;
      unsent_ = Text(bytes, static_cast<size_t>(size));
    }
    const ssize_t sent = ::send(fd(), unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      blocked_ = errno == EAGAIN;
      return blocked_;
    }
    unsent_.remove_prefix(static_cast<size_t>(sent));
  }
  return nghttp2_session_want_read(session_.get()) != 0 ||
         nghttp2_session_want_write(session_.get()) != 0;
}

int32_t Http2Session::Ask(const Headers& headers, std::string body) {
  const auto fields = FieldsOf(headers);
  const nghttp2_data_provider provider = {.source = {.ptr = nullptr},
                                          .read_callback = Callbacks::Read};
  const int32_t stream = Require(nghttp2_submit_request(session_.get(), nullptr, fields.data(),
                                                        fields.size(), &provider, nullptr),
                                 "HTTP/2 request");
  Body& own = bodies_[stream];
  own.size = body.size();
  own.parts.push_back(std::move(body));
  own.ended = true;
  return stream;
}

void Http2Session::BeginAnswer(int32_t stream, const Headers& headers) {
  const auto fields = FieldsOf(headers);
  const nghttp2_data_provider provider = {.source = {.ptr = nullptr},
                                          .read_callback = Callbacks::Read};
  bodies_[stream] = {};
  Require(nghttp2_submit_response(session_.get(), stream, fields.data(), fields.size(), &provider),
          "HTTP/2 answer");
}

void Http2Session::Write(int32_t stream, std::string bytes) {
  Body& body = bodies_.at(stream);
  body.size += bytes.size();
  body.parts.push_back(std::move(bytes));
  nghttp2_session_resume_data(session_.get(), stream);
}

void Http2Session::EndAnswer(int32_t stream, Headers trailers) {
  Body& body = bodies_.at(stream);
  body.ended = true;
  body.trailers = std::move(trailers);
  nghttp2_session_resume_data(session_.get(), stream);
}

void Http2Session::AnswerEmpty(int32_t stream, const Headers& headers) {
  const auto fields = FieldsOf(headers);
  Require(nghttp2_submit_response(session_.get(), stream, fields.data(), fields.size(), nullptr),
          "HTTP/2 answer");
}

size_t Http2Session::Queued(int32_t stream) const {
  const auto body = bodies_.find(stream);
  return body == bodies_.end() ? 0 : body->second.size;
}

size_t Http2Session::Queued() const {
  return std::accumulate(bodies_.begin(), bodies_.end(), size_t{0},
                         [](size_t sum, const auto& body) { return sum + body.second.size; });
}

void Http2Session::Reset(int32_t stream, uint32_t error) {
  Require(nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream, error),
          "HTTP/2 reset");
}

void Http2Session::Terminate() noexcept {
  nghttp2_session_terminate_session(session_.get(), NGHTTP2_NO_ERROR);
}

ssize_t Http2Session::Read(int32_t stream, size_t most, uint8_t* target, uint32_t* flags) {
  Body& body = bodies_.at(stream);
  size_t size = 0;
  while (size < most && !body.parts.empty()) {
    const std::string_view rest = std::string_view(body.parts.front()).substr(body.sent);
    const size_t some = std::min(rest.size(), most - size);
    std::copy_n(rest.begin(), some, target + size);
    size += some;
    body.sent += some;
    if (some < rest.size()) break;
    body.parts.pop_front();
    body.sent = 0;
  }
  body.size -= size;
  if (body.size == 0 && body.ended) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!body.trailers.empty()) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      const auto fields = FieldsOf(body.trailers);
      Require(nghttp2_submit_trailer(session_.get(), stream, fields.data(), fields.size()),
              "HTTP/2 trailers");
    }
  } else if (size == 0) {
    return NGHTTP2_ERR_DEFERRED;
  }
  return static_cast<ssize_t>(size);
}

void Http2Session::Close(int32_t stream, uint32_t error) {
  bodies_.erase(stream);
  events_.OnClosed(stream, error);
}

}  // namespace kuryr::kubelet
