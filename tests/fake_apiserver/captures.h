#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tests/fake_apiserver/raw_client.h"

namespace kuryr::fake {

/// A capture of a real API server (1.20.2), from tests/data/apiserver-http.
struct Capture {
  std::string name;
  std::string request;  // bytes
  RawAnswer answer;
};

/// Loads a capture. Throws std::runtime_error when there is none of this name.
[[nodiscard]] Capture LoadCapture(const std::string& name);

/// The capture's name where GoogleTest wants a test's name.
[[nodiscard]] std::string CaptureName(const testing::TestParamInfo<const char*>& info);

/// The parts of a head that clients act on: status line, Content-Type, Cache-Control, Retry-After,
/// X-Content-Type-Options, Connection, and whether the body is chunked. (Left out: Date, lengths,
/// X-Kubernetes-Pf-*.)
[[nodiscard]] std::vector<std::string> ComparableHead(const RawAnswer& answer);

/// An object or an event without the values that differ between servers: uids, timestamps and
/// managedFields become "SET".
[[nodiscard]] nlohmann::json Comparable(nlohmann::json value);

/// As above, and resourceVersions become "SET".
[[nodiscard]] nlohmann::json ComparableAnyVersion(nlohmann::json value);

}  // namespace kuryr::fake
