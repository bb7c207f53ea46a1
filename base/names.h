#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kuryr {

/// The kernel's rule for interface names (dev_valid_name in net/core/dev.c), and printable ASCII
/// only, so that names are safe in logs and JSON.
[[nodiscard]] bool IsLinkName(std::string_view text);
inline constexpr const char* kLinkNameRule =
    "1 to 15 printable characters, no '/', ':' or blank, not \".\" or \"..\"";

/// A DNS-1123 subdomain, as Kubernetes names namespaces and pods: at most 253 of [a-z0-9.-], a
/// letter or digit at both ends.
[[nodiscard]] bool IsDnsName(std::string_view text);

/// A UUID as text (RFC 4122): 8-4-4-4-12 hexadecimal digits.
[[nodiscard]] bool IsUuid(std::string_view text);

/// The name that a person may have meant by `word`; empty if all differ in more than `most`
/// letters, or in more than a third of them.
[[nodiscard]] std::string NearestName(std::string_view word, const std::vector<std::string>& names,
                                      size_t most = std::string::npos);

}  // namespace kuryr
