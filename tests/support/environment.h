#pragma once

#include <cstdlib>

namespace kuryr::test {

/// The length or thoroughness of a test, from a variable such as KURYR_ROUNDS.
inline int FromEnvironment(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

}  // namespace kuryr::test
