#include "service/histogram.h"

#include <algorithm>

namespace kuryr::service {

void Histogram::Observe(std::chrono::steady_clock::duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  if (bound != kBounds.end()) ++within_.at(static_cast<size_t>(bound - kBounds.begin()));
  ++count_;
  sum_ += seconds;
}

void Histogram::WriteTo(MetricsText& text, const std::string& name,
                        const MetricsText::Labels& labels) const {
  const auto write_bucket = [&](std::string_view bound, uint64_t within) {
    MetricsText::Labels all = labels;
    all.emplace_back("le", bound);
    text.Sample(name + "_bucket", all, static_cast<double>(within));
  };
  uint64_t within = 0;
  for (size_t i = 0; i < kBounds.size(); ++i) {
    within += within_.at(i);
    write_bucket(MetricsText::Number(kBounds.at(i)), within);
  }
  write_bucket("+Inf", count_);
  text.Sample(name + "_sum", labels, sum_);
  text.Sample(name + "_count", labels, static_cast<double>(count_));
}

}  // namespace kuryr::service
