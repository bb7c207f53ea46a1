#pragma once

#include <string>

#include "controller/backends/neutron/client/http_connection.h"
#include "controller/backends/neutron/neutron_error.h"

namespace kuryr::controller::neutron {

/// What an answer of Neutron's that is no 2xx says: {"NeutronError": {...}}, the forms of
/// keystonemiddleware and of Neutron's front, or nothing that we know. The token is cut out of
/// whatever it quotes.
[[nodiscard]] NeutronError RefusalOf(const HttpRequest& request, const HttpAnswer& answer);

/// The same of Keystone's. Its messages quote what was sent, passwords and all: none of them is
/// repeated.
[[nodiscard]] NeutronError KeystoneRefusalOf(const HttpRequest& request, const HttpAnswer& answer);

/// An answer of a 2xx that is none of Neutron's or Keystone's. `reason` says what is wrong with it.
[[nodiscard]] NeutronError NoAnswerOf(const HttpRequest& request, const HttpAnswer& answer,
                                      const std::string& reason);

}  // namespace kuryr::controller::neutron
