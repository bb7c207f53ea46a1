#include "watcher/refusals.h"

namespace kuryr::watcher {
namespace {

constexpr unsigned kTries = 3;

}  // namespace

void Refusals::Add(Clock::time_point now) {
  if (++tries_ == 1) first_ = now;
  lasted_ = tries_ >= kTries && now - first_ >= grace_;
}

}  // namespace kuryr::watcher
