#include "watcher/backoff.h"

#include <algorithm>

namespace kuryr::watcher {

Backoff::Milliseconds Backoff::Next() {
  std::uniform_int_distribution<Milliseconds::rep> between(base_.count(), last_.count() * 3);
  last_ = std::min(cap_, Milliseconds(between(random_)));
  return last_;
}

}  // namespace kuryr::watcher
