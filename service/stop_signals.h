#pragma once

#include "base/unique_fd.h"

namespace kuryr::service {

/// Blocks the signals that ask a program to end, for this thread and those it starts. The
/// signalfd(2) that it returns is readable when one has come, so that what is under way ends in
/// order. To be called before any thread exists, also because libopenvswitch would take these
/// signals where they are free. Ignores SIGPIPE.
[[nodiscard]] UniqueFd StopSignalsAsFd();

}  // namespace kuryr::service
