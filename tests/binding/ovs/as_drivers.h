#pragma once

#include "binding/links/owner.h"

namespace kuryr::binding {

/// Replaces what drivers replace.
inline AddRules AsDrivers(const OvsPort& port) {
  return {.may_replace = [port](const PortState& there) { return MayReplace(there, port); }};
}

}  // namespace kuryr::binding
