#pragma once

#include <string>
#include <vector>

namespace kuryr::cni::doctor {

enum class Verdict {
  kGood,
  kBad,      ///< pods cannot be plugged, or not as planned
  kUnknown,  ///< it could not be checked from here, or only some drivers need it
};

/// One thing that a node must have, and what was found.
struct Finding {
  std::string subject;  ///< "Open vSwitch"
  Verdict verdict = Verdict::kGood;
  std::string found;
  std::string mend;  ///< what to do about it; empty when it is good
};

using Findings = std::vector<Finding>;

}  // namespace kuryr::cni::doctor
