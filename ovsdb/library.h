#pragma once

// How this folder's C files use libopenvswitch: its start, its waits, its process-wide TLS state.

#include <stdbool.h>

#include "ovsdb/shim.h"

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(readability-identifier-naming): C's way
/// Call it before anything else of the library. Returns 0 or an errno value.
int ovsdb_init_library(void);

/// 0 while the caller may wait; else ETIMEDOUT, ECANCELED, or EBADF for a closed descriptor.
int ovsdb_is_over(struct ovsdb_limit limit);
/// Register all other wake-ups of the caller before. The caller checks its condition again
/// afterwards.
void ovsdb_wait(struct ovsdb_limit limit);

/// Takes the lock of the TLS state if the remote is an ssl: one. True: ovsdb_unlock_tls() is due.
bool ovsdb_lock_tls(const char* remote);
void ovsdb_unlock_tls(void);
/// Reads the files of ovsdb_use_tls() again. The lock is held.
void ovsdb_read_tls(void);
// NOLINTEND(readability-identifier-naming)

#ifdef __cplusplus
}
#endif
