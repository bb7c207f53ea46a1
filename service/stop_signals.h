#pragma once

#include "base/unique_fd.h"

namespace kuryr::service {

/// Blocks the signals that ask a program to end, for this thread and those it starts, and returns a
/// signalfd(2) that is readable when one has come: what is under way is then undone or finished in
/// order. To be called before any thread exists, also because libopenvswitch would take these
/// signals where they are free. Ignores SIGPIPE.
[[nodiscard]] UniqueFd StopSignalsAsFd();

}  // namespace kuryr::service
