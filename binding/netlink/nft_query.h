#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/ip.h"

namespace kuryr::binding {

// What nf_tables has, in the calling thread's namespace. All throw std::system_error, its text
// beginning with `what`.

/// Changes with every change of the namespace's rules. Throws std::system_error, its text beginning
/// with `what`.
[[nodiscard]] uint32_t RulesetGeneration(const std::string& what);

/// The user data of a rule with this note, of at most 255 bytes, as libnftnl lays it out: type,
/// length, value.
[[nodiscard]] std::string NoteData(const std::string& note);

/// The notes of the chain's rules; empty where a rule has none. No chain has no rules.
[[nodiscard]] std::vector<std::string> NotesIn(const std::string& table, const std::string& chain,
                                               const std::string& what);

/// The notes of all rules of a table, by chain. Chains without rules are not there.
[[nodiscard]] std::map<std::string, std::vector<std::string>> NotesOfTable(const std::string& table,
                                                                           const std::string& what);

/// The keys of a set of addresses, or of a map; none if it does not exist.
[[nodiscard]] std::set<IpAddress> AddressesIn(const std::string& table, const std::string& set,
                                              const std::string& what);

/// Whether the rules of `chain` have these notes in this order.
[[nodiscard]] bool HasNotes(const std::string& table, const std::string& chain,
                            std::span<const std::string> notes, const std::string& what);

}  // namespace kuryr::binding
