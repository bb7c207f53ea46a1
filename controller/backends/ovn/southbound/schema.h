#pragma once

// The tables and columns of the southbound database that kuryr-controller reads (ovn-sb(5)).

namespace kuryr::controller::ovn {

inline constexpr const char* kSouthboundName = "OVN_Southbound";

inline constexpr const char* kChassis = "Chassis";
/// Has a row of the same name for each chassis.
inline constexpr const char* kChassisPrivate = "Chassis_Private";
inline constexpr const char* kEncap = "Encap";

inline constexpr const char* kOtherConfig = "other_config";
inline constexpr const char* kCmsOptions = "ovn-cms-options";

}  // namespace kuryr::controller::ovn
