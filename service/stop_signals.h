#pragma once

#include "base/unique_fd.h"

namespace kuryr::service {

/// Blocks the signals that ask a program to end, for this thread and the threads that it starts.
/// Returns a signalfd(2), which is readable when a signal has come, so that the program can end in
/// order. Call it before any thread exists. libopenvswitch would otherwise handle these signals
/// itself. Ignores SIGPIPE.
[[nodiscard]] UniqueFd StopSignalsAsFd();

}  // namespace kuryr::service
