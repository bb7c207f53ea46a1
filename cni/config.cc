#include "cni/config.h"

#include <INIReader.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "cni/protocol/error.h"
#include "watcher/api_client.h"

namespace kuryr::cni {
namespace {

constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

[[noreturn]] void Refuse(const std::string& where, const std::string& why) {
  throw CniError(ErrorCode::kInvalidConfig, where + ": " + why);
}

/// One option as the files have it, and where it was found.
struct Option {
  std::string where;  ///< "/etc/kuryr/kuryr.conf: [section] option"
  std::optional<std::string> value;
};

/// The files, one laid over the other.
class Files {
 public:
  explicit Files(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      INIReader reader(name);
      const int error = reader.ParseError();
      if (error < 0)
        Refuse("config file " + name, "cannot be read: " + std::string(std::strerror(errno)));
      if (error > 0) Refuse("config file " + name, "malformed line " + std::to_string(error));
      readers_.emplace_back(name, std::move(reader));
    }
  }

  [[nodiscard]] Option Find(const char* section, const char* name) const {
    const std::string option = std::string("[") + section + "] " + name;
    for (auto file = readers_.rbegin(); file != readers_.rend(); ++file) {
      if (file->second.HasValue(section, name)) {
        return {file->first + ": " + option, file->second.Get(section, name, "")};
      }
    }
    return {option, std::nullopt};
  }

 private:
  std::vector<std::pair<std::string, INIReader>> readers_;
};

void Take(const Option& option, std::string& target) {
  if (option.value) target = *option.value;
}

void Take(const Option& option, bool& target) {
  if (!option.value) return;
  std::string text = *option.value;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (text == "true" || text == "1" || text == "yes" || text == "on") {
    target = true;
  } else if (text == "false" || text == "0" || text == "no" || text == "off") {
    target = false;
  } else {
    Refuse(option.where,
           "\"" + Printable(*option.value) + "\" is no boolean; expected true or false");
  }
}

void Take(const Option& option, uint32_t& target, uint32_t least, uint32_t most) {
  if (!option.value) return;
  const std::string& text = *option.value;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    Refuse(option.where, "\"" + Printable(text) + "\" is no number from " + std::to_string(least) +
                             " to " + std::to_string(most));
  }
  target = number;
}

void Take(const Option& option, std::chrono::seconds& target, uint32_t most) {
  auto seconds = static_cast<uint32_t>(target.count());
  Take(option, seconds, 1, most);
  target = std::chrono::seconds(seconds);
}

/// A file that was asked for must be readable; the in-cluster default is taken where it is.
void TakeFile(const Option& option, const std::string& fallback, std::string& target) {
  if (!option.value) {
    if (!fallback.empty() && ::access(fallback.c_str(), R_OK) == 0) target = fallback;
    return;
  }
  if (!option.value->empty() && ::access(option.value->c_str(), R_OK) != 0) {
    Refuse(option.where, "cannot read " + Printable(*option.value) + ": " + std::strerror(errno));
  }
  target = *option.value;
}

/// Kuryr's order: the option, K8S_API, the cluster's own service, this host.
std::string DefaultApiRoot(const GetEnv& getenv) {
  if (const char* root = getenv("K8S_API")) return root;
  const char* host = getenv("KUBERNETES_SERVICE_HOST");
  const char* port = getenv("KUBERNETES_SERVICE_PORT_HTTPS");
  if (host == nullptr || port == nullptr) return watcher::ApiConfig().api_root;
  const bool ipv6 = std::strchr(host, ':') != nullptr;
  return std::string("https://") + (ipv6 ? "[" : "") + host + (ipv6 ? "]" : "") + ":" + port;
}

void TakeKubernetes(const Files& files, const GetEnv& getenv, watcher::ApiConfig& api) {
  constexpr const char* kSection = "kubernetes";
  const Option root = files.Find(kSection, "api_root");
  api.api_root = root.value && !root.value->empty() ? *root.value : DefaultApiRoot(getenv);
  try {
    (void)watcher::ApiRoot::Parse(api.api_root);
  } catch (const ParseError& e) {
    Refuse(root.where, e.reason());
  }
  TakeFile(files.Find(kSection, "token_file"), std::string(kServiceAccount) + "token",
           api.token_file);
  TakeFile(files.Find(kSection, "ssl_ca_crt_file"), std::string(kServiceAccount) + "ca.crt",
           api.ca_file);
  TakeFile(files.Find(kSection, "ssl_client_crt_file"), "", api.client_cert_file);
  TakeFile(files.Find(kSection, "ssl_client_key_file"), "", api.client_key_file);
  Take(files.Find(kSection, "ssl_verify_server_crt"), api.verify_server);
  Take(files.Find(kSection, "watch_connection_timeout"), api.connect_timeout, 3600);
  Take(files.Find(kSection, "watch_read_timeout"), api.read_timeout, 3600);
}

void TakeBinding(const Files& files, binding::BindingConfig& binding) {
  constexpr uint32_t kMaxMtu = 65535;
  Take(files.Find("os_vif_ovs", "ovsdb_connection"), binding.ovsdb_connection);
  TakeFile(files.Find("os_vif_ovs", "ssl_key_file"), "", binding.ssl_key_file);
  TakeFile(files.Find("os_vif_ovs", "ssl_cert_file"), "", binding.ssl_cert_file);
  TakeFile(files.Find("os_vif_ovs", "ssl_ca_cert_file"), "", binding.ssl_ca_cert_file);
  Take(files.Find("os_vif_ovs", "ovs_vsctl_timeout"), binding.ovs_timeout, 3600);
  Take(files.Find("os_vif_ovs", "datapath_type"), binding.datapath_type);
  Take(files.Find("neutron_defaults", "network_device_mtu"), binding.network_device_mtu, 0,
       kMaxMtu);
}

}  // namespace

Config LoadConfig(std::vector<std::string> names, const GetEnv& getenv) {
  if (names.empty() && ::access(kDefaultConfigFile, F_OK) == 0)
    names.emplace_back(kDefaultConfigFile);
  const Files files(names);
  Config config;
  Take(files.Find("DEFAULT", "debug"), config.debug);
  Take(files.Find("DEFAULT", "log_file"), config.log_file);
  TakeKubernetes(files, getenv, config.api);
  TakeBinding(files, config.binding);
  std::string state_dir = config.state_dir;
  const Option state = files.Find("cni_daemon", "state_dir");
  Take(state, state_dir);
  config.state_dir = state_dir;
  if (!config.state_dir.is_absolute())
    Refuse(state.where, "\"" + Printable(state_dir) + "\" is no absolute path");
  Take(files.Find("cni_daemon", "vif_annotation_timeout"), config.vif_annotation_timeout, 3600);
  return config;
}

}  // namespace kuryr::cni
