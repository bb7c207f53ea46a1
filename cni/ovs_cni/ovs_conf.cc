#include "cni/ovs_cni/ovs_conf.h"

#include <exception>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "cni/protocol/environment.h"
#include "cni/protocol/error.h"
#include "cni/protocol/keys.h"
#include "cni/protocol/network_config.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

std::vector<std::string> FilesFor(const json& config) {
  std::vector<std::string> files = {"/etc/kubernetes/cni/net.d/ovs.d/ovs.conf",
                                    "/etc/cni/net.d/ovs.d/ovs.conf"};
  std::string named = StringAt(config, "configuration_path");
  if (!named.empty()) files.insert(files.begin(), std::move(named));
  return files;
}

/// Whether a field is missing or empty. VLAN 0 is a VLAN.
bool IsLeftOut(const json& config, const std::string& key) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return true;
  if (found->is_number()) return key != "vlan" && *found == 0;
  return *found == "" || *found == false || *found == json::array() || *found == json::object();
}

void Merge(const json& from, json& config) {
  for (const auto& [key, value] : from.items()) {
    if (key != "type" && IsLeftOut(config, key)) config[key] = value;
  }
}

json Parse(const std::string& text, const std::string& file) {
  try {
    json conf = ParseJson(text);
    if (conf.is_object()) {
      NameKeys(conf);
      return conf;
    }
  } catch (const ParseError& e) {
    // The error must not show the file's text: an author of network configurations may not be root.
    throw CniError(ErrorCode::kInvalidConfig, "malformed " + Printable(file, 300),
                   e.reason().substr(0, e.reason().find(':')));
  }
  throw CniError(ErrorCode::kInvalidConfig, Printable(file, 300) + " is no JSON object");
}

json OvsConfOf(const json& config) {
  for (const std::string& file : FilesFor(config)) {
    try {
      if (const auto text = ReadFile(file, FileOwner::kAnybody)) return Parse(*text, file);
    } catch (const std::system_error& e) {
      throw CniError(ErrorCode::kInvalidConfig, Printable(e.what(), 300));
    }
  }
  return json::object();
}

/// A configuration of ovs-cni; nullopt for other input, also for malformed input.
std::optional<json> OvsCniConfigIn(const std::string& input) {
  try {
    json config = ParseInput(input);
    if (StringAt(config, "type") == kOvsCniType) return config;
    return std::nullopt;
  } catch (const CniError&) {
    return std::nullopt;  // ParseRequest says why
  }
}

}  // namespace

std::string WithOvsConf(std::string input, const std::optional<std::string>& command) {
  auto config = OvsCniConfigIn(input);
  if (!config) return input;
  try {
    Merge(OvsConfOf(*config), *config);
  } catch (const CniError& e) {
    if (command != ToString(Command::kDel)) throw;
    Log(LogLevel::kWarning, "the DEL goes on without ovs.conf", {{"error", e.what()}});
  }
  return config->dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace kuryr::cni
