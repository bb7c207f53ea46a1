#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "controller/backends/neutron/client/identity.h"

namespace kuryr::controller::neutron {

/// The body of POST /v3/auth/tokens.
[[nodiscard]] nlohmann::json TokenRequestOf(const Identity& identity);

/// Which endpoint of the catalog is Neutron's.
struct EndpointChoice {
  std::string region;                   ///< any when empty
  std::vector<std::string> interfaces;  ///< in order: the first that there is
};

/// The answer's body. The token itself is in the header X-Subject-Token.
struct TokenAnswer {
  std::chrono::seconds lifetime{0};  ///< from issued_at to expires_at
  std::string neutron_url;           ///< as the catalog has it; empty without a choice
  std::string project_id;            ///< whose it is; empty for nobody's
};
/// Throws ParseError, which names the field, or the endpoints that the catalog has. A choice
/// without interfaces asks for no endpoint.
[[nodiscard]] TokenAnswer DecodeTokenAnswer(std::string_view body, const EndpointChoice& choice);

}  // namespace kuryr::controller::neutron
