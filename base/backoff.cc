#include "base/backoff.h"

#include <algorithm>

namespace kuryr {

Backoff::Milliseconds Backoff::Next() {
  std::uniform_int_distribution<Milliseconds::rep> between(base_.count(), last_.count() * 3);
  last_ = std::min(cap_, Milliseconds(between(random_)));
  return last_;
}

}  // namespace kuryr
