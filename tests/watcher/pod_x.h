#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/fake_apiserver/fake_api_server.h"
#include "watcher/api_config.h"

namespace kuryr::watcher {

/// The path of a watch of pod x alone.
inline constexpr const char* kPodX =
    "/api/v1/namespaces/default/pods?fieldSelector=metadata.name%3Dx";

inline nlohmann::json PodNamed(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name}}}};
}

inline ApiConfig For(const fake::FakeApiServer& server) {
  return {.api_root = server.url(), .ca = {.file = fake::FakeApiServer::ca_file()}};
}

/// The verbs of the requests that the server has got.
inline std::vector<std::string> VerbsOf(const fake::FakeApiServer& server) {
  std::vector<std::string> verbs;
  for (const auto& request : server.Requests()) verbs.push_back(request.verb);
  return verbs;
}

}  // namespace kuryr::watcher
