#pragma once

#include <string>
#include <vector>

namespace kuryr::cni::doctor {

enum class Verdict {
  kGood,
  kBad,      ///< pods cannot be plugged, or not as planned
  kUnknown,  ///< it could not be looked at from here, or is needed by some drivers only
};

/// One thing a node has to have, and what was found of it.
struct Finding {
  std::string subject;  ///< "Open vSwitch"
  Verdict verdict = Verdict::kGood;
  std::string found;
  std::string mend;  ///< what to do about it; empty where it is good
};

using Findings = std::vector<Finding>;

}  // namespace kuryr::cni::doctor
