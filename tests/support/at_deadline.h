#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <system_error>

#include "base/deadline.h"

namespace kuryr::test {

/// The text of the Late that `action` throws at the first deadline that is long enough for it on
/// this machine. With shorter deadlines it throws std::errc::timed_out. If it never throws Late,
/// the text says why.
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
