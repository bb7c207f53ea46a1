#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace kuryr::cni {

/// `text` with its ASCII letters in lower case.
[[nodiscard]] std::string Lower(std::string text);

/// Renames every member, whatever its case, to the spelling in CNI's structs, ovs-cni's or ours.
/// Other plugins read the same configuration with Go's encoding/json, which ignores the case of
/// names. It also renames members of sections (ipam, args, kuryr, trunk ...). Unknown members stay
/// as they are. A second spelling of a member stays as well: see RequireOneSpelling. Members that
/// runtimes add (name, prevResult ...) win over other spellings.
void NameKeys(nlohmann::json& config);

/// To be called after NameKeys. Throws CniError 7 where a member has two spellings, because it is
/// unknown which of them is meant.
void RequireOneSpelling(const nlohmann::json& config);

/// Throws CniError 7 for a member of `object` that the section does not have: an option that
/// isolates, limits or copies packets must not be ignored. `section` is one of ours, and `field` is
/// the path of `object`.
void RequireKnownKeys(const nlohmann::json& object, std::string_view section,
                      const std::string& field);

}  // namespace kuryr::cni
