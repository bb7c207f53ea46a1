#include "devices/config.h"

#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "config/config_file.h"

namespace kuryr::devices {
namespace {

void TakeBridges(const ConfigFiles& files, BridgeOffer& offer) {
  constexpr uint32_t kMostPlaces = 10'000;
  Take(files.Find("devices", "ovs_bridges"), offer.ovs);
  Take(files.Find("devices", "bridges"), offer.kernel);
  TakePairs(files.Find("devices", "bridge_mappings"),
            std::string("PHYSNET:BRIDGE, PHYSNET being ") + kResourceNameRule, offer.physnets,
            [](const std::string& physnet, const std::string& bridge) {
              return IsResourceName(physnet) && IsLinkName(bridge);
            });
  Take(files.Find("devices", "bridge_places"), offer.places, 1, kMostPlaces);
  Take(files.Find("os_vif_ovs", "ovsdb_connection"), offer.ovsdb_connection);
  if (!offer.ovsdb_connection.starts_with("ssl:")) return;
  TakeFile(files.Find("os_vif_ovs", "ssl_key_file"), offer.ssl_key_file);
  TakeFile(files.Find("os_vif_ovs", "ssl_cert_file"), offer.ssl_cert_file);
  TakeFile(files.Find("os_vif_ovs", "ssl_ca_cert_file"), offer.ssl_ca_cert_file);
}

}  // namespace

Config LoadConfig(std::vector<std::string> names) {
  return LoadConfig(ConfigFiles(std::move(names)));
}

Config LoadConfig(const ConfigFiles& files) {
  Config config;
  Take(files.Find("devices", "config_file"), config.config_file);
  const Option prefix = files.Find("devices", "resource_prefix");
  if (prefix.set()) Take(prefix, config.resource_prefix);
  if (!IsDnsName(config.resource_prefix))
    Refuse(prefix.where, "\"" + Printable(config.resource_prefix) + "\" is no DNS name");
  Take(files.Find("devices", "kubelet_dir"), config.kubelet_dir);
  Take(files.Find("devices", "sysfs"), config.sysfs);
  Take(files.Find("devices", "devinfo_dir"), config.devinfo_dir);
  TakeBridges(files, config.bridges);
  config.program = ReadProgramOptions(files);
  return config;
}

ProgramOptions ReadProgramOptions(const ConfigFiles& files) {
  ProgramOptions program = Config().program;
  Take(files,
       {files.Find("devices_health_server", "bind_address"),
        files.Find("devices_health_server", "port"), files.Find("devices_health_server", "socket")},
       program);
  return program;
}

}  // namespace kuryr::devices
