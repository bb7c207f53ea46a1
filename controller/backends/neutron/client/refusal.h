#pragma once

#include <string>

#include "controller/backends/neutron/api/neutron_error.h"
#include "controller/backends/neutron/client/http_connection.h"

namespace kuryr::controller::neutron {

/// Reads an answer of Neutron that is no 2xx: {"NeutronError": {...}}, the forms of
/// keystonemiddleware and of Neutron's front, or nothing that we know. The token is cut out of
/// whatever it quotes.
[[nodiscard]] NeutronError RefusalOf(const HttpRequest& request, const HttpAnswer& answer);

/// Reads an answer of Keystone that is no 2xx. Its messages quote the request with its passwords:
/// none of them is repeated.
[[nodiscard]] NeutronError KeystoneRefusalOf(const HttpRequest& request, const HttpAnswer& answer);

/// An answer of a 2xx that is none of Neutron's or Keystone's. `reason` says what is wrong with it.
[[nodiscard]] NeutronError NoAnswerOf(const HttpRequest& request, const HttpAnswer& answer,
                                      const std::string& reason);

}  // namespace kuryr::controller::neutron
