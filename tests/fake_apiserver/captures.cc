#include "tests/fake_apiserver/captures.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "tests/support/paths.h"

namespace kuryr::fake {
namespace {

using nlohmann::json;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void Blank(json& object, const char* key) {
  if (object.contains(key) && !object.at(key).is_null()) object[key] = "SET";
}

/// Walks to every metadata object.
void Normalise(json& value, bool versions) {
  if (value.is_structured()) {
    for (json& element : value) Normalise(element, versions);
  }
  if (!value.is_object() || !value.contains("metadata")) return;
  json& metadata = value["metadata"];
  for (const char* key : {"uid", "creationTimestamp", "deletionTimestamp"}) Blank(metadata, key);
  if (metadata.contains("managedFields")) metadata["managedFields"] = "SET";
  if (versions) Blank(metadata, "resourceVersion");
}

}  // namespace

Capture LoadCapture(const std::string& name) {
  const std::string path = test::TestData() + "/apiserver-http/" + name;
  return {.name = name,
          .request = ReadFile(path + ".req"),
          .answer = ParseAnswer(ReadFile(path + ".raw"))};
}

std::string CaptureName(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::vector<std::string> ComparableHead(const RawAnswer& answer) {
  std::vector<std::string> head = {answer.status_line};
  for (const char* name :
       {"content-type", "cache-control", "retry-after", "x-content-type-options", "connection"}) {
    const auto found = answer.headers.find(name);
    if (found != answer.headers.end()) head.push_back(std::string(name) + ": " + found->second);
  }
  head.emplace_back(answer.IsChunked() ? "chunked" : "with Content-Length");
  return head;
}

json Comparable(json value) {
  Normalise(value, false);
  return value;
}

json ComparableAnyVersion(json value) {
  Normalise(value, true);
  return value;
}

}  // namespace kuryr::fake
