#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace kuryr::vif {

/// Where a decoder stands in its document. Each level is a node on the stack that borrows its
/// parent and its key, so that the good path builds no text.
class Path {
 public:
  explicit Path(const std::string& root) : key_(root) {}
  Path(const Path& parent, std::string_view key) : parent_(&parent), key_(key) {}
  Path(const Path& parent, size_t index) : parent_(&parent), index_(index), is_index_(true) {}
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

  [[nodiscard]] std::string ToString() const;

  /// Throws ParseError with this path: "found X, expected `expected`".
  [[noreturn]] void Refuse(const nlohmann::json& found, std::string_view expected) const;
  /// Throws ParseError with this path and reason.
  [[noreturn]] void Refuse(std::string_view reason) const;

 private:
  const Path* parent_ = nullptr;
  std::string_view key_;
  size_t index_ = 0;
  bool is_index_ = false;
};

}  // namespace kuryr::vif
