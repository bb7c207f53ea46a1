#pragma once

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cni/protocol/environment.h"
#include "cni/protocol/error.h"
#include "cni/protocol/network_config.h"

namespace kuryr::cni {

/// Ends the process when a property does not hold that a fuzz target asks for.
inline void Require(bool property) {
  if (!property) std::abort();
}

inline bool HasControlCharacter(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return true;
  }
  return false;
}

/// The runtime gets a code other than "internal error", and words that fit on a terminal.
inline void RequireTold(const CniError& error) {
  Require(error.code() != ErrorCode::kInternal && *error.what() != '\0');
  Require(!HasControlCharacter(error.what()) && !HasControlCharacter(error.details()));
  const auto told = nlohmann::json::parse(ErrorJson(error, "1.1.0"));
  Require(told.at("code") == static_cast<int>(error.code()) && told.contains("msg"));
}

/// It may become part of a path.
inline void RequireFileName(const std::string& name) {
  Require(!name.empty() && name != "." && name != "..");
  Require(name.find('/') == std::string::npos && !HasControlCharacter(name));
}

inline void RequireSafeNames(const NetworkConfig& config) {
  RequireFileName(config.name);
  if (!config.ipam.empty()) RequireFileName(config.ipam);
  if (!config.standalone) return;
  RequireFileName(config.standalone->bridge);
  if (!config.standalone->uplink.empty()) RequireFileName(config.standalone->uplink);
}

}  // namespace kuryr::cni
