#pragma once

#include <functional>

#include "tests/fake_apiserver/http_message.h"

namespace kuryr::fake {

class FakeApiServer;

struct ControlResult {
  Answer answer;
  std::function<void()> then;  // work for after the answer, if any
};

/// The endpoint for tests in other languages than C++: /fake/faults, /fake/requests, /fake/wait;
/// see README.md.
[[nodiscard]] ControlResult HandleControl(FakeApiServer& server, const HttpRequest& request);

}  // namespace kuryr::fake
