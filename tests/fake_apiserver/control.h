#pragma once

#include <functional>

#include "tests/fake_apiserver/http_message.h"

namespace kuryr::fake {

class FakeApiServer;

struct ControlResult {
  Answer answer;
  std::function<void()> then;  // to do once the answer is out, if any
};

/// The endpoint for tests that are no C++: /fake/faults, /fake/requests, /fake/wait; see README.md.
[[nodiscard]] ControlResult HandleControl(FakeApiServer& server, const HttpRequest& request);

}  // namespace kuryr::fake
