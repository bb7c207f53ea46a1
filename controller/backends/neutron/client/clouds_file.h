#pragma once

#include <map>
#include <string>

#include "config/config_file.h"

namespace kuryr::controller::neutron {

/// One cloud of openstacksdk's clouds.yaml, with secure.yaml laid over it: texts by the names of
/// keystoneauth's options ("auth_url", "cafile").
using CloudOptions = std::map<std::string, Option>;

/// From the file that OS_CLIENT_CONFIG_FILE names, or else the first clouds.yaml (or .yml) of the
/// present folder, ~/.config/openstack and /etc/openstack; secrets also from the secure.yaml found
/// likewise (OS_CLIENT_SECURE_FILE). Throws ConfigError that names file, cloud and key; it holds no
/// value.
[[nodiscard]] CloudOptions LoadCloud(const std::string& cloud, const GetEnv& getenv);

/// One file's text; `file` is its name.
[[nodiscard]] CloudOptions ParseCloud(const std::string& file, const std::string& text,
                                      const std::string& cloud);

}  // namespace kuryr::controller::neutron
