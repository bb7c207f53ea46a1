#include "controller/cluster/network_attachments.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "controller/backends/backend.h"
#include "controller/owners/pod_facts.h"
#include "controller/plan/network_selection.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

constexpr const char* kWanted = R"(expected {"pool": NAME} or {"subnetId": UUID})";

/// Errors contain no text of the definition: pods of other namespaces get them.
json JsonOf(const std::string& text, const std::string& where) {
  try {
    return ParseJson(text);
  } catch (const ParseError&) {
    throw ParseError(where, "malformed JSON, deeper than 64 levels, or a key twice in an object");
  }
}

std::string NameAt(const json& config, const char* key, const std::string& where) {
  constexpr size_t kMostBytes = 253;
  const auto name = config.find(key);
  if (name == config.end() || name->is_null()) return "";
  if (!name->is_string() || name->get_ref<const std::string&>().size() > kMostBytes)
    throw ParseError(where + "." + key, "no string of up to 253 bytes");
  return name->get<std::string>();
}

/// The network that the configuration names; empty if it names none.
std::string NetworkNamed(const json& config, const std::string& where) {
  if (!config.is_object()) throw ParseError(where, std::string("no object; ") + kWanted);
  std::string pool = NameAt(config, "pool", where);
  std::string subnet = NameAt(config, "subnetId", where);
  if (subnet.empty()) return pool;
  if (!pool.empty()) throw ParseError(where, std::string("names both; ") + kWanted);
  if (!IsUuid(subnet)) throw ParseError(where + ".subnetId", "no UUID");
  return subnet;
}

/// The configuration of the plugin that makes the interface; null if there is none.
json FirstPlugin(const json& config) {
  if (!config.is_object()) return nullptr;
  const auto plugins = config.find("plugins");
  if (plugins == config.end()) return config;
  return plugins->is_array() && !plugins->empty() ? plugins->front() : json();
}

}  // namespace

std::string NetworkNamedBy(const json& definition) {
  const std::string annotated = StringAt(
      definition.value("/metadata/annotations"_json_pointer, json()), kKuryrConfigAnnotation);
  if (!annotated.empty()) {
    const std::string where = std::string("annotation ") + kKuryrConfigAnnotation;
    const std::string network = NetworkNamed(JsonOf(annotated, where), where);
    if (network.empty()) throw ParseError(where, std::string("names no network; ") + kWanted);
    return network;
  }
  const std::string config = StringAt(definition.value("spec", json()), "config");
  if (config.empty()) return "";
  const json plugin = FirstPlugin(JsonOf(config, "spec.config"));
  const bool is_kuryr = plugin.is_object() && plugin.contains("kuryr");
  return is_kuryr ? NetworkNamed(plugin.at("kuryr"), "spec.config, kuryr") : "";
}

std::vector<WatchedPath> NetworkAttachments::Paths() {
  return {{.path = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions",
           .forbidden = "network-attachment-definitions"}};
}

void NetworkAttachments::OnPresent(const watcher::WatchEvent& event) {
  Definition definition;
  try {
    definition.network = NetworkNamedBy(*event.object);
  } catch (const ParseError& e) {
    definition.problem = e.what();
  }
  const std::string key = KeyOf(event.name_space, event.name);
  std::set<Key> askers;
  {
    const MutexLock lock(mutex_);
    definitions_[key] = std::move(definition);
    askers = askers_.Take(key);
  }
  for (const Key& asker : askers) wake_(asker);
}

void NetworkAttachments::OnDeleted(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  definitions_.erase(KeyOf(event.name_space, event.name));
}

std::optional<std::string> NetworkAttachments::Find(const std::string& name_space,
                                                    const std::string& name, const Key& asker) {
  using Kind = PlanError::Kind;
  const std::string key = KeyOf(name_space, name);
  const MutexLock lock(mutex_);
  const auto found = definitions_.find(key);
  if (found == definitions_.end()) {
    askers_.Add(key, asker);
    throw PlanError(Kind::kGone, "no NetworkAttachmentDefinition " + key + ", which annotation " +
                                     kNetworksAnnotation + " names");
  }
  const Definition& definition = found->second;
  if (!definition.problem.empty()) {
    askers_.Add(key, asker);
    throw PlanError(Kind::kRefused,
                    "NetworkAttachmentDefinition " + key + ", " + definition.problem);
  }
  if (definition.network.empty()) return std::nullopt;
  return definition.network;
}

size_t NetworkAttachments::waiting() const {
  const MutexLock lock(mutex_);
  return askers_.size();
}

}  // namespace kuryr::controller
