#include "devices/config.h"

#include <utility>

#include "base/config_file.h"
#include "base/error.h"
#include "base/names.h"

namespace kuryr::devices {

Config LoadConfig(std::vector<std::string> names) {
  constexpr uint32_t kMostPort = 65535;
  const ConfigFiles files(std::move(names));
  Config config;
  Take(files.Find("devices", "config_file"), config.config_file);
  const Option prefix = files.Find("devices", "resource_prefix");
  if (prefix.set()) Take(prefix, config.resource_prefix);
  if (!IsDnsName(config.resource_prefix))
    Refuse(prefix.where, "\"" + Printable(config.resource_prefix) + "\" is no DNS name");
  Take(files.Find("devices", "kubelet_dir"), config.kubelet_dir);
  Take(files.Find("devices", "sysfs"), config.sysfs);
  Take(files.Find("devices", "devinfo_dir"), config.devinfo_dir);
  Take(files.Find("devices_health_server", "bind_address"), config.health_address);
  Take(files.Find("devices_health_server", "port"), config.health_port, 0, kMostPort);
  Take(files.Find("DEFAULT", "debug"), config.debug);
  Take(files.Find("DEFAULT", "log_file"), config.log_file);
  return config;
}

}  // namespace kuryr::devices
