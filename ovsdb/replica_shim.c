// config.h comes first: it defines _GNU_SOURCE.
#include <config.h>

#include "ovsdb/replica_shim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jsonrpc.h"
#include "openvswitch/json.h"
#include "openvswitch/list.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/shash.h"
#include "ovsdb-cs.h"
#include "ovsdb-session.h"
#include "ovsdb/library.h"
#include "svec.h"
#include "timeval.h"
#include "util.h"
#include "uuid.h"

// The form of updates that monitor_cond_since and monitor_cond send, and monitor does not.
enum { kLeastVersion = 2, kBestVersion = 3 };

// A server that is down or does not lead is tried again after this time. An election takes one or
// two seconds.
enum { kRetryMs = 500 };

// A server that sends nothing for twice this time is given up. The time doubles with each such
// server until one has sent the database, because a large one takes a server long.
enum { kProbeMs = 2000, kMostProbeMs = 16000 };

struct ovsdb_replica {
  struct ovsdb_cs* cs;
  struct json* requests;
  struct ovs_list events;     // that were not handed out yet
  struct svec remotes;        // in an order by chance
  long long int* may_try_at;  // by remote
  size_t next_remote;
  int probe_ms;
  int last_error;
  bool is_tls;
};

static struct json* compose_requests(const struct json* schema OVS_UNUSED, void* replica) {
  return json_deep_clone(((struct ovsdb_replica*)replica)->requests);
}

static const struct ovsdb_cs_ops operations = {.compose_monitor_requests = compose_requests};

static void set_conditions(struct ovsdb_cs* cs, const struct json* conditions) {
  const struct shash* tables = json_object(conditions);
  const struct shash_node** nodes = shash_sort(tables);
  for (size_t i = 0; i < shash_count(tables); ++i)
    ovsdb_cs_set_condition(cs, nodes[i]->name, nodes[i]->data);
  free(nodes);
}

static void set_remotes(struct ovsdb_replica* replica, const char* remotes) {
  struct uuid cluster;
  svec_init(&replica->remotes);
  ovsdb_session_parse_remote(remotes, &replica->remotes, &cluster);
  svec_shuffle(&replica->remotes);
  replica->may_try_at = xcalloc(replica->remotes.n, sizeof *replica->may_try_at);
  replica->probe_ms = kProbeMs;
}

int ovsdb_replica_open(const struct ovsdb_replica_wish* wish, struct ovsdb_replica** replica) {
  *replica = NULL;
  const int error = ovsdb_init_library();
  if (error) return error;
  struct json* requests = json_from_string(wish->requests);
  struct json* conditions = json_from_string(wish->conditions);
  const bool is_good = requests->type == JSON_OBJECT && conditions->type == JSON_OBJECT &&
                       wish->remotes[strspn(wish->remotes, ", ")] != '\0';
  if (is_good) {
    struct ovsdb_replica* opened = xzalloc(sizeof *opened);
    opened->requests = json_clone(requests);
    set_remotes(opened, wish->remotes);
    opened->is_tls = strstr(wish->remotes, "ssl:") != NULL;
    opened->cs = ovsdb_cs_create(wish->database, kBestVersion, &operations, opened);
    ovs_list_init(&opened->events);
    set_conditions(opened->cs, conditions);
    ovsdb_cs_set_leader_only(opened->cs, true);
    *replica = opened;
  }
  json_destroy(requests);
  json_destroy(conditions);
  return is_good ? 0 : EINVAL;
}

static struct ovsdb_cs_event* take_event(struct ovsdb_replica* replica) {
  if (ovs_list_is_empty(&replica->events)) return NULL;
  struct ovs_list* first = ovs_list_pop_front(&replica->events);
  return CONTAINER_OF(first, struct ovsdb_cs_event, list_node);
}

void ovsdb_replica_close(struct ovsdb_replica* replica) {
  if (!replica) return;
  for (struct ovsdb_cs_event* event; (event = take_event(replica));) ovsdb_cs_event_destroy(event);
  ovsdb_cs_destroy(replica->cs);
  json_destroy(replica->requests);
  svec_destroy(&replica->remotes);
  free(replica->may_try_at);
  free(replica);
}

// Each server has a session of its own, which ends with its connection. A session of all servers
// would double its pause after each server that does not lead, up to 8 s.
static void keep_session(struct ovsdb_replica* replica) {
  const long long int now = time_msec();
  if (ovsdb_cs_is_alive(replica->cs) || now < replica->may_try_at[replica->next_remote]) return;
  const int error = ovsdb_cs_get_last_error(replica->cs);
  if (error) replica->last_error = error;
  if (error == ETIMEDOUT) replica->probe_ms = MIN(2 * replica->probe_ms, kMostProbeMs);
  ovsdb_cs_set_remote(replica->cs, NULL, false);
  ovsdb_cs_set_remote(replica->cs, replica->remotes.names[replica->next_remote], false);
  replica->may_try_at[replica->next_remote] = now + kRetryMs;
  replica->next_remote = (replica->next_remote + 1) % replica->remotes.n;
}

static void wait_for_session(const struct ovsdb_replica* replica) {
  if (ovsdb_cs_is_alive(replica->cs)) {
    ovsdb_cs_wait(replica->cs);
  } else {
    poll_timer_wait_until(replica->may_try_at[replica->next_remote]);
  }
}

// A connection that is being made uses the library's TLS state.
static void run(struct ovsdb_replica* replica) {
  const bool locked =
      replica->is_tls && !ovsdb_cs_is_connected(replica->cs) && ovsdb_lock_tls("ssl:");
  if (locked) ovsdb_read_tls();
  struct ovs_list events;
  keep_session(replica);
  if (ovsdb_cs_may_send_transaction(replica->cs)) replica->probe_ms = kProbeMs;
  ovsdb_cs_set_probe_interval(replica->cs, replica->probe_ms);
  ovsdb_cs_run(replica->cs, &events);
  ovs_list_push_back_all(&replica->events, &events);
  if (locked) ovsdb_unlock_tls();
}

// Returns EPROTO for an update of another form: of a server from before 2016.
static int tell(const struct ovsdb_cs_event* event, struct ovsdb_replica_news* news) {
  const struct json* json = NULL;
  switch (event->type) {
    case OVSDB_CS_EVENT_TYPE_RECONNECT:
    case OVSDB_CS_EVENT_TYPE_LOCKED:
      news->kind = OVSDB_REPLICA_LOST;
      break;
    case OVSDB_CS_EVENT_TYPE_UPDATE:
      if (event->update.version < kLeastVersion) return EPROTO;
      news->kind = event->update.clear ? OVSDB_REPLICA_REFRESH : OVSDB_REPLICA_UPDATE;
      json = event->update.table_updates;
      break;
    case OVSDB_CS_EVENT_TYPE_TXN_REPLY:
      news->kind = OVSDB_REPLICA_ANSWER;
      json = event->txn_reply->type == JSONRPC_ERROR ? event->txn_reply->error
                                                     : event->txn_reply->result;
      break;
  }
  news->text = json ? json_to_string(json, 0) : NULL;
  return 0;
}

int ovsdb_replica_next(struct ovsdb_replica* replica, struct ovsdb_limit limit,
                       struct ovsdb_replica_news* news) {
  for (;;) {
    struct ovsdb_cs_event* event = take_event(replica);
    if (event) {
      const int error = tell(event, news);
      ovsdb_cs_event_destroy(event);
      return error;
    }
    run(replica);
    if (!ovs_list_is_empty(&replica->events)) continue;
    const int over = ovsdb_is_over(limit);
    if (over) return over;
    wait_for_session(replica);
    ovsdb_wait(limit);
  }
}

bool ovsdb_replica_is_ready(const struct ovsdb_replica* replica) {
  return ovs_list_is_empty(&replica->events) && ovsdb_cs_may_send_transaction(replica->cs);
}

int ovsdb_replica_last_error(const struct ovsdb_replica* replica) {
  const int error = ovsdb_cs_get_last_error(replica->cs);
  return error ? error : replica->last_error;
}

void ovsdb_replica_refresh(struct ovsdb_replica* replica) {
  for (struct ovsdb_cs_event* event; (event = take_event(replica));) ovsdb_cs_event_destroy(event);
  ovsdb_cs_flag_inconsistency(replica->cs);
}

int ovsdb_replica_send(struct ovsdb_replica* replica, const char* transaction) {
  struct json* id = ovsdb_cs_send_transaction(replica->cs, json_from_string(transaction));
  if (!id) return ENOTCONN;
  json_destroy(id);
  return 0;
}
