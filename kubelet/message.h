#pragma once

#include <google/protobuf/stubs/logging.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/deadline.h"
#include "kubelet/server.h"
#include "kubelet/unary_call.h"

namespace kuryr::kubelet {

// Wraps server handlers and calls, which use bytes, for Protobuf's messages.

/// Parses a message. Throws CallError with `code` for malformed bytes.
template <typename Message>
[[nodiscard]] Message ParseMessage(const std::string& bytes, StatusCode code) {
  // Protobuf writes a line to stderr for a string that is no UTF-8; the error says enough.
  const google::protobuf::LogSilencer silencer;
  Message message;
  if (!message.ParseFromString(bytes))
    throw CallError({code, "no protobuf message " + message.GetTypeName()});
  return message;
}

/// `handler`: Response(const Request&).
template <typename Request, typename Handler>
[[nodiscard]] UnaryHandler Unary(Handler handler) {
  return [handler = std::move(handler)](const std::string& bytes) {
    return handler(ParseMessage<Request>(bytes, StatusCode::kInvalidArgument)).SerializeAsString();
  };
}

/// `handler`: void(const Request&, std::shared_ptr<AnswerStream>).
template <typename Request, typename Handler>
[[nodiscard]] StreamHandler Streaming(Handler handler) {
  return [handler = std::move(handler)](const std::string& bytes,
                                        std::shared_ptr<AnswerStream> stream) {
    handler(ParseMessage<Request>(bytes, StatusCode::kInvalidArgument), std::move(stream));
  };
}

/// Calls with `message`, which replaces `request`'s message.
template <typename Response, typename Request>
[[nodiscard]] Response Ask(CallRequest request, const Request& message, const Deadline& deadline) {
  request.message = message.SerializeAsString();
  return ParseMessage<Response>(Call(request, deadline), StatusCode::kInternal);
}

}  // namespace kuryr::kubelet
