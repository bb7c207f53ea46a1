#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace kuryr::cni {

/// ASCII alone.
[[nodiscard]] std::string Lower(std::string text);

/// Gives every member the name that CNI's structs, ovs-cni's or ours have for it, in whatever case
/// it came: Go's encoding/json, with which other plugins read the same configuration, compares
/// names without regard to case. It looks into the sections as well (ipam, args, kuryr, trunk ...).
/// What none of them has stays as it is, and so does a second spelling of one that is there: see
/// RequireOneSpelling. What runtimes add (name, prevResult ...) wins over other spellings.
void NameKeys(nlohmann::json& config);

/// Of what NameKeys has named: throws CniError 7 where a member stands in two spellings. Which of
/// them would be meant cannot be told.
void RequireOneSpelling(const nlohmann::json& config);

/// Throws CniError 7 for a member of `object` that the section does not have: what isolates, limits
/// or copies packets is not passed over. `section` is one of ours, and `field` is where `object`
/// stands.
void RequireKnownKeys(const nlohmann::json& object, std::string_view section,
                      const std::string& field);

}  // namespace kuryr::cni
