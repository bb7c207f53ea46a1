#pragma once

#include <optional>
#include <string>

// RFC 4648, section 4. Thread-safe.

namespace kuryr {

[[nodiscard]] std::string EncodeBase64(const std::string& bytes);

/// Padded base64; line breaks are skipped, as Go does. nullopt for other and for empty text.
[[nodiscard]] std::optional<std::string> DecodeBase64(std::string text);

}  // namespace kuryr
