#include "tests/fake_apiserver/metadata.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

namespace kuryr::fake {
namespace {

using nlohmann::json;

std::string RandomText(const char* alphabet, size_t alphabet_size, size_t length) {
  static thread_local std::mt19937_64 generator{std::random_device{}()};
  std::uniform_int_distribution<size_t> pick(0, alphabet_size - 1);
  std::string text;
  while (text.size() < length) text += alphabet[pick(generator)];
  return text;
}

/// {"f:KEY": ...} for every key. A list is one field; one of strings has {"v:STRING": {}} for
/// each of them.
json FieldsOf(const json& value) {
  json fields = json::object();
  if (value.is_array() && !value.empty() && value.front().is_string()) {
    fields["."] = json::object();
    for (const json& member : value) fields["v:" + member.dump()] = json::object();
  }
  if (!value.is_object()) return fields;
  fields["."] = json::object();
  for (const auto& [key, member] : value.items()) fields["f:" + key] = FieldsOf(member);
  return fields;
}

/// Adds the members of `defaults` that `object` lacks, at the top level only.
void AddMissing(json& object, const json& defaults) {
  for (const auto& [key, value] : defaults.items()) {
    if (!object.contains(key)) object[key] = value;
  }
}

json Toleration(const std::string& key) {
  return {
      {"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 300}};
}

void FillPodDefaults(json& pod) {
  json& spec = pod["spec"];
  if (!spec.is_object()) spec = json::object();
  AddMissing(spec, {{"containers", json::array()},
                    {"restartPolicy", "Always"},
                    {"terminationGracePeriodSeconds", 30},
                    {"dnsPolicy", "ClusterFirst"},
                    {"securityContext", json::object()},
                    {"schedulerName", "default-scheduler"},
                    {"tolerations", json::array({Toleration("node.kubernetes.io/not-ready"),
                                                 Toleration("node.kubernetes.io/unreachable")})},
                    {"priority", 0},
                    {"enableServiceLinks", true},
                    {"preemptionPolicy", "PreemptLowerPriority"}});
  for (json& container : spec["containers"]) {
    AddMissing(container, {{"resources", json::object()},
                           {"terminationMessagePath", "/dev/termination-log"},
                           {"terminationMessagePolicy", "File"},
                           {"imagePullPolicy", "IfNotPresent"}});
  }
  json& status = pod["status"];
  if (!status.is_object()) status = json::object();
  AddMissing(status, {{"phase", "Pending"}, {"qosClass", "BestEffort"}});
}

}  // namespace

std::string FormatTime(std::time_t time) {
  std::tm parts{};
  static_cast<void>(::gmtime_r(&time, &parts));
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::time_t ParseTime(const std::string& text) {
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return end != nullptr && *end == '\0' ? ::timegm(&parts) : 0;
}

std::string NewUid() {
  const std::string digits = RandomText("0123456789abcdef", 16, 31);
  return digits.substr(0, 8) + "-" + digits.substr(8, 4) + "-4" + digits.substr(12, 3) + "-a" +
         digits.substr(15, 3) + "-" + digits.substr(18, 12);
}

std::string NewSuffix() { return RandomText("bcdfghjklmnpqrstvwxz2456789", 27, 5); }

void SetManagedFields(json& object, const std::string& manager) {
  json fields = json::object();
  for (const auto& [key, value] : object.items()) {
    if (key != "metadata" && key != "kind" && key != "apiVersion") {
      fields["f:" + key] = FieldsOf(value);
    }
  }
  for (const char* key : {"annotations", "labels", "finalizers"}) {
    const auto found = object["metadata"].find(key);
    if (found != object["metadata"].end()) {
      fields["f:metadata"][std::string("f:") + key] = FieldsOf(*found);
    }
  }
  object["metadata"]["managedFields"] = json::array({{{"manager", manager},
                                                      {"operation", "Update"},
                                                      {"apiVersion", object["apiVersion"]},
                                                      {"time", FormatTime(std::time(nullptr))},
                                                      {"fieldsType", "FieldsV1"},
                                                      {"fieldsV1", fields}}});
}

void FillDefaults(const Resource& resource, json& object) {
  if (resource.plural == "pods" && !resource.custom) FillPodDefaults(object);
}

}  // namespace kuryr::fake
