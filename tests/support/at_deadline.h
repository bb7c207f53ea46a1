#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <system_error>

#include "base/deadline.h"

namespace kuryr::test {

/// What `action` says when it throws Late, at the first deadline that leaves it the time to come so
/// far on this machine: before, it throws std::errc::timed_out. Or else what happened instead.
template <typename Late>
std::string SaidAtDeadline(const std::function<void(const Deadline&)>& action) {
  using namespace std::chrono_literals;
  for (auto time = 50ms; time < 30s; time *= 2) {
    try {
      action(Deadline::After(time));
      return "it has not thrown";
    } catch (const Late& late) {
      return late.what();
    } catch (const std::system_error& e) {
      if (e.code() != std::errc::timed_out) throw;
    }
  }
  return "no deadline was late enough";
}

}  // namespace kuryr::test
