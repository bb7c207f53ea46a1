#pragma once

// libopenvswitch's synchronization of a replica (ovsdb-cs.h) without its types: text in, text out.
// It keeps one connection to the database, and connects again after each loss: to the cluster's
// leader, to any server, with what changed meanwhile (monitor_cond_since) or with everything. It
// looks for the leader at all servers twice a second, and gives up a server that says nothing for
// four seconds, or for up to 32 before it has sent the database.
// Texts handed out are freed with free(). A replica belongs to one thread.

#include <stdbool.h>
#include <stdint.h>

#include "ovsdb/shim.h"

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(readability-identifier-naming): C's way
struct ovsdb_replica;

/// The part of a database to replicate. Borrowed for the call, unless a field says more.
struct ovsdb_replica_wish {
  const char* database;  ///< borrowed as long as the replica lives
  const char* remotes;   ///< ovsdb(7), with commas between the servers of a cluster
  const char* requests;  ///< <monitor-requests> (RFC 7047, 4.1.5) without "where"
  /// An object of table and <condition>s ("where" of ovsdb-server(7)'s monitor_cond).
  const char* conditions;
};

enum ovsdb_replica_news_kind {
  OVSDB_REPLICA_LOST,     ///< no connection: what was sent has no answer any more
  OVSDB_REPLICA_UPDATE,   ///< `text` is <table-updates2>
  OVSDB_REPLICA_REFRESH,  ///< as an update, of an empty replica
  OVSDB_REPLICA_ANSWER,   ///< `text` is the result of the transaction that was sent
};

struct ovsdb_replica_news {
  enum ovsdb_replica_news_kind kind;
  char* text;  ///< NULL where the kind has none
};

/// Connects to the leader of a cluster, which alone has seen all transactions. Returns 0 or an
/// errno value: EINVAL for a wish that is no such JSON, or has no remote.
int ovsdb_replica_open(const struct ovsdb_replica_wish* wish, struct ovsdb_replica** replica);
void ovsdb_replica_close(struct ovsdb_replica* replica);

/// The next news. ETIMEDOUT and ECANCELED as the limit says; the replica stays good.
int ovsdb_replica_next(struct ovsdb_replica* replica, struct ovsdb_limit limit,
                       struct ovsdb_replica_news* news);

/// Whether the replica is whole, so that a transaction may be sent.
bool ovsdb_replica_is_ready(const struct ovsdb_replica* replica);
/// The errno value with which the last connection ended; 0: none did. EOF: the server closed it.
int ovsdb_replica_last_error(const struct ovsdb_replica* replica);

/// An update does not fit the replica. The next news but OVSDB_REPLICA_LOST is a refresh, over a
/// new connection.
void ovsdb_replica_refresh(struct ovsdb_replica* replica);

/// Sends a transaction (RFC 7047, 4.1.3): a JSON array of the database's name and operations. One
/// at a time. ENOTCONN where the replica is not ready.
int ovsdb_replica_send(struct ovsdb_replica* replica, const char* transaction);
// NOLINTEND(readability-identifier-naming)

#ifdef __cplusplus
}
#endif
