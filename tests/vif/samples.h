#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/paths.h"

namespace kuryr::vif {

inline std::string ReadSample(const std::string& name) {
  const std::string path = test::TestData() + "/vif-samples/" + name;
  std::ifstream file(path);
  if (!file) throw std::runtime_error("open " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline nlohmann::json JsonSample(const std::string& name) {
  return nlohmann::json::parse(ReadSample(name));
}

/// The names of the files in one folder of the samples, without ".json", sorted.
inline std::vector<std::string> SampleNames(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::TestData() + "/vif-samples/" + folder)) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace kuryr::vif
