#pragma once

namespace kuryr::binding {

/// The table "inet kuryr-node" of nft(8), which is the agent's alone.
inline constexpr const char* kNodeTable = "kuryr-node";

/// Removes the table. False when there was none. Throws std::system_error.
bool RemoveNodeRules();

}  // namespace kuryr::binding
