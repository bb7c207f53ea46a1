#pragma once

#include "base/deadline.h"
#include "cni/node.h"

namespace kuryr::cni {

/// What the agent does before it serves: undoes what earlier processes and an earlier boot left. Of
/// the records those go whose ADD was never answered and is nobody's work any more, that are of
/// another boot, or whose container's namespace is gone. Attachments of pods that run are not
/// touched. What cannot be undone now is logged, and stays for the next time.
void Sweep(const Node& node, const Deadline& deadline);

}  // namespace kuryr::cni
