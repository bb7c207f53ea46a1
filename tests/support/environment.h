#pragma once

#include <cstdlib>

namespace kuryr::test {

/// How long or thorough a test is, from a variable like KURYR_ROUNDS.
inline int FromEnvironment(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

}  // namespace kuryr::test
