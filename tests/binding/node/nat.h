#pragma once

#include <optional>
#include <string>

#include "tests/support/subprocess.h"

namespace kuryr::binding {

/// Why this machine's kernel cannot masquerade, for GTEST_SKIP().
inline std::optional<std::string> NatUnavailable() {
  const auto probe = test::RunProgram(
      {.argv = {"nft", "--check",
                "table inet probe { chain c { type nat hook postrouting priority srcnat; }; }"}});
  if (probe.status == 0) return std::nullopt;
  return "nf_tables has no NAT here: " + probe.err;
}

}  // namespace kuryr::binding
