#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kuryr::cni {

// Names the call of a log line: the trace-id of https://www.w3.org/TR/trace-context/, 32 lower-case
// hexadecimal digits that are not all 0. Log lines have it under OpenTelemetry's name:
// https://opentelemetry.io/docs/specs/otel/compatibility/logging_trace_context/

inline constexpr const char* kTraceIdField = "trace_id";

[[nodiscard]] bool IsTraceId(std::string_view text);

/// The trace ID of a traceparent ("00-TRACEID-PARENTID-FLAGS", or a later version's); nullopt for
/// malformed text, since any caller may set it.
[[nodiscard]] std::optional<std::string> TraceIdOf(std::string_view traceparent);

/// A random trace ID. Throws std::system_error.
[[nodiscard]] std::string NewTraceId();

}  // namespace kuryr::cni
