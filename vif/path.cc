#include "vif/path.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace kuryr::vif {
namespace {

std::string Found(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) return '"' + Printable(value.get_ref<const std::string&>()) + '"';
  return value.dump();
}

}  // namespace

std::string Path::ToString() const {
  if (parent_ == nullptr) return std::string(key_);
  const std::string parent = parent_->ToString();
  return parent + (is_index_ ? "[" + std::to_string(index_) + "]" : PathStep(key_));
}

void Path::Refuse(const nlohmann::json& found, std::string_view expected) const {
  throw ParseError(ToString(), "found " + Found(found) + ", expected " + std::string(expected));
}

void Path::Refuse(std::string_view reason) const {
  throw ParseError(ToString(), std::string(reason));
}

}  // namespace kuryr::vif
