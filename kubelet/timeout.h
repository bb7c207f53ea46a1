#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace kuryr::kubelet {

/// Parses grpc-timeout: one to eight digits and a unit of H, M, S, m, u, n (gRPC over HTTP/2,
/// "Requests"). nullopt for other text.
[[nodiscard]] std::optional<std::chrono::nanoseconds> ParseTimeout(std::string_view text);
/// Formats grpc-timeout in milliseconds, or in seconds if the milliseconds need more than eight
/// digits.
[[nodiscard]] std::string FormatTimeout(std::chrono::milliseconds timeout);

}  // namespace kuryr::kubelet
