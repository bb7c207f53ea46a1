#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kuryr::service {

/// Metrics as Prometheus reads them (text format 0.0.4): each metric's head, then its samples.
class MetricsText {
 public:
  static constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

  /// `type`: counter, gauge or histogram.
  void Head(std::string_view name, std::string_view type, std::string_view help);
  void Sample(std::string_view name, const Labels& labels, double value);
  /// Writes a metric of one sample.
  void Metric(std::string_view name, std::string_view type, std::string_view help, double value) {
    Head(name, type, help);
    Sample(name, {}, value);
  }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// The text of a sample's value or a bucket's bound.
  [[nodiscard]] static std::string Number(double value);

 private:
  std::string text_;
};

}  // namespace kuryr::service
