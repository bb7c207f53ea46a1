#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace kuryr::kubelet {

/// grpc-timeout: one to eight digits and a unit of H, M, S, m, u, n (gRPC over HTTP/2, "Requests").
/// nullopt for what is none.
[[nodiscard]] std::optional<std::chrono::nanoseconds> ParseTimeout(std::string_view text);
/// In milliseconds, or in seconds where those are too many for eight digits.
[[nodiscard]] std::string FormatTimeout(std::chrono::milliseconds timeout);

}  // namespace kuryr::kubelet
