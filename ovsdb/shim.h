#pragma once

// libopenvswitch's JSON-RPC client without its types: text in, text out. Every int is 0 or an errno
// value; texts handed out are freed with free(). A connection belongs to one thread at a time,
// different connections to different threads.
//
// Waits end as an ovsdb_limit says, with ETIMEDOUT or ECANCELED. After any error but EREMOTEIO and
// EINVAL a connection is useless: the server may or may not have done the request. EMSGSIZE: the
// server sends a message above 1 MiB, or more than it was asked for.
//
// The library writes nothing: its log is off. It aborts when out of memory. SIGPIPE is ignored from
// the first call on, and no other signal's disposition changes.
// Protocol: RFC 7047; ovsdb-server(7) for monitor_cond.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(readability-identifier-naming): C's way
struct ovsdb_connection;

/// How long a call may wait: to `deadline_ms` (CLOCK_MONOTONIC milliseconds, INT64_MAX for never),
/// and until `cancel_fd` (-1 for none; not 0) is readable.
struct ovsdb_limit {
  int64_t deadline_ms;
  int cancel_fd;
};

/// `remote` as in ovsdb(7): unix:FILE, tcp:IP[:PORT], ssl:IP[:PORT]. EAFNOSUPPORT for others. Where
/// the server's queue of connections is full it waits for a place, and returns EAGAIN instead of
/// ETIMEDOUT when none got free.
int ovsdb_open(const char* remote, struct ovsdb_limit limit, struct ovsdb_connection** connection);
void ovsdb_close(struct ovsdb_connection* connection);

/// Sets the PEM files for ssl: remotes, for the whole process. They are read again for every
/// connection. An ssl: connection without them, or with a certificate of another key, fails with
/// ENOPROTOOPT.
void ovsdb_use_tls(const char* private_key, const char* certificate, const char* ca_certificate);

/// Takes what has arrived, answers the server's echo requests, waits for nothing. ECONNRESET when
/// the server has closed the connection.
int ovsdb_refresh(struct ovsdb_connection* connection);

/// One request and its reply. `params` is a JSON array. EREMOTEIO: the server refused, and *result
/// is its error as JSON.
int ovsdb_call(struct ovsdb_connection* connection, const char* method, const char* params,
               struct ovsdb_limit limit, char** result);

/// Sends a request and does not wait for its reply.
int ovsdb_post(struct ovsdb_connection* connection, const char* method, const char* params);

/// The next notification: the JSON array [method, params...] in the order the server sent them.
int ovsdb_next(struct ovsdb_connection* connection, struct ovsdb_limit limit, char** notification);
// NOLINTEND(readability-identifier-naming)

#ifdef __cplusplus
}
#endif
