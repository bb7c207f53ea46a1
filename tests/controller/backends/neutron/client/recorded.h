#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/fake_apiserver/http_message.h"

namespace kuryr::controller::neutron {

/// One exchange with a real Keystone or Neutron: tests/data/neutron-http/NAME.json.
struct Recorded {
  std::string method;
  std::string target;
  std::string body;  ///< empty if it has none
  int status = 0;
  std::string reason;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string answer;

  /// The answer as it came over the wire.
  [[nodiscard]] std::string Wire() const;
};

[[nodiscard]] Recorded Load(const std::string& name);

/// "" when the client's request is the recorded one, else the difference. Fields that the client
/// added to the query do not count. A JSON body counts by its value.
[[nodiscard]] std::string DifferenceOf(const fake::HttpRequest& request, const Recorded& recorded);

}  // namespace kuryr::controller::neutron
