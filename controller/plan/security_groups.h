#pragma once

#include <string>
#include <vector>

namespace kuryr::controller {

/// An annotation of a namespace, for its pods, or of one pod: UUIDs of security groups, separated
/// by commas.
inline constexpr const char* kSecurityGroupsAnnotation = "kuryr.openstack.org/security-groups";

/// The groups that the annotation names. PlanError kRefused if it is malformed.
[[nodiscard]] std::vector<std::string> SecurityGroupsIn(const std::string& annotation);

}  // namespace kuryr::controller
