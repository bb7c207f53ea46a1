#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kuryr::cni {

// Which call a line of the log belongs to: the trace-id of https://www.w3.org/TR/trace-context/,
// 32 lower-case hexadecimal digits that are not all 0. Lines have it under OpenTelemetry's name:
// https://opentelemetry.io/docs/specs/otel/compatibility/logging_trace_context/

inline constexpr const char* kTraceIdField = "trace_id";

[[nodiscard]] bool IsTraceId(std::string_view text);

/// That of a traceparent ("00-TRACEID-PARENTID-FLAGS", or a later version's); nullopt for anything
/// else, as it is anybody's.
[[nodiscard]] std::optional<std::string> TraceIdOf(std::string_view traceparent);

/// A random one. Throws std::system_error.
[[nodiscard]] std::string NewTraceId();

}  // namespace kuryr::cni
