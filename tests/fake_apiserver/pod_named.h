#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace kuryr::fake {

inline nlohmann::json PodNamed(const std::string& name, const std::string& node = "n1") {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", name}}},
          {"spec", {{"nodeName", node}}}};
}

}  // namespace kuryr::fake
