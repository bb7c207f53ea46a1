#include "tests/controller/backends/neutron/client/recorded.h"

#include <fstream>
#include <set>

#include "tests/support/paths.h"

namespace kuryr::controller::neutron {
namespace {

using nlohmann::json;

json ReadJson(const std::string& name) {
  const std::string file = test::TestData() + "/neutron-http/" + name + ".json";
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  return json::parse(in);
}

std::string Unescaped(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  return plain;
}

/// The "name=value" items of a target's query.
std::multiset<std::string> FieldsOf(const std::string& target) {
  std::multiset<std::string> fields;
  const size_t mark = target.find('?');
  if (mark == std::string::npos) return fields;
  for (size_t begin = mark + 1; begin < target.size();) {
    const size_t end = std::min(target.find('&', begin), target.size());
    fields.insert(Unescaped(target.substr(begin, end - begin)));
    begin = end + 1;
  }
  return fields;
}

std::string PathOf(const std::string& target) { return target.substr(0, target.find('?')); }

}  // namespace

Recorded Load(const std::string& name) {
  const json document = ReadJson(name);
  const json& request = document.at("request");
  const json& answer = document.at("answer");
  Recorded recorded{.method = request.at("method"),
                    .target = request.at("target"),
                    .body = request.at("body").is_null() ? "" : request.at("body"),
                    .status = answer.at("status"),
                    .reason = answer.at("reason"),
                    .answer = answer.at("body")};
  for (const json& header : answer.at("headers"))
    recorded.headers.emplace_back(header.at(0), header.at(1));
  return recorded;
}

std::string Recorded::Wire() const {
  std::string wire = "HTTP/1.1 " + std::to_string(status) + " " + reason + "\r\n";
  for (const auto& [name, value] : headers) wire += name + ": " + value + "\r\n";
  return wire + "\r\n" + answer;
}

std::string DifferenceOf(const fake::HttpRequest& request, const Recorded& recorded) {
  if (request.method != recorded.method) return "method " + request.method;
  if (PathOf(request.target) != PathOf(recorded.target)) return "path of " + request.target;
  const auto sent = FieldsOf(request.target);
  for (const std::string& field : FieldsOf(recorded.target)) {
    if (!sent.contains(field)) return request.target + " lacks " + field;
  }
  if (request.body.empty() != recorded.body.empty()) return "body " + request.body;
  if (recorded.body.empty() || json::parse(request.body) == json::parse(recorded.body)) return "";
  return "body " + request.body + ", recorded is " + recorded.body;
}

}  // namespace kuryr::controller::neutron
