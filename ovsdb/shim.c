// config.h comes first: it defines _GNU_SOURCE.
#include <config.h>

#include "ovsdb/shim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jsonrpc.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "ovsdb/library.h"
#include "stream.h"
#include "timeval.h"
#include "util.h"

struct notification {
  struct notification* next;
  char* text;
};

struct ovsdb_connection {
  struct jsonrpc* rpc;
  struct notification* first;
  struct notification** end;
  size_t kept_bytes;        // of all notifications
  unsigned int read_bytes;  // up to the end of the last message, as the library counts: it wraps
};

enum { kQueueRetryMs = 5 };

// Limits for a misbehaving server: one that sends an endless message, unrequested notifications, or
// echo requests whose answers it does not read.
enum { kLargestMessage = 1 << 20, kMostKeptBytes = 4 << 20, kMostUnread = 1000 };

static int start_stream(const char* remote, struct stream** stream) {
  const bool locked = ovsdb_lock_tls(remote);
  if (locked) ovsdb_read_tls();
  const int error = jsonrpc_stream_open(remote, stream, 0);
  if (locked) ovsdb_unlock_tls();
  return error;
}

static int go_on_connecting(struct stream* stream) {
  const bool locked = ovsdb_lock_tls(stream_get_name(stream));
  stream_run(stream);
  const int error = stream_connect(stream);
  if (locked) ovsdb_unlock_tls();
  return error;
}

static int connect_stream(struct stream* stream, struct ovsdb_limit limit) {
  for (;;) {
    int error = go_on_connecting(stream);
    if (error != EAGAIN) return error;
    error = ovsdb_is_over(limit);
    if (error) return error;
    stream_run_wait(stream);
    stream_connect_wait(stream);
    ovsdb_wait(limit);
  }
}

// EPROTO from here is always a unix socket's EAGAIN: the server runs, but its queue of connections
// is full (ovsdb-server's has 64 places). No event reports a free place. In TCP the kernel tries
// again by itself, and errors of the peer come later, from connect_stream().
static int open_stream(const char* remote, struct ovsdb_limit limit, struct stream** stream) {
  for (;;) {
    const int error = start_stream(remote, stream);
    if (error != EPROTO) return error;
    const int over = ovsdb_is_over(limit);
    if (over) return over == ETIMEDOUT ? EAGAIN : over;
    const int64_t retry_ms = MIN(limit.deadline_ms, time_msec() + kQueueRetryMs);
    ovsdb_wait((struct ovsdb_limit){.deadline_ms = retry_ms, .cancel_fd = limit.cancel_fd});
  }
}

int ovsdb_open(const char* remote, struct ovsdb_limit limit, struct ovsdb_connection** connection) {
  *connection = NULL;
  if (limit.cancel_fd == 0) return EINVAL;
  int error = ovsdb_init_library();
  if (error) return error;
  struct stream* stream = NULL;
  error = open_stream(remote, limit, &stream);
  if (error) return error;
  error = connect_stream(stream, limit);
  if (error) {
    stream_close(stream);
    return error;
  }
  struct ovsdb_connection* opened = xzalloc(sizeof *opened);
  opened->rpc = jsonrpc_open(stream);
  opened->end = &opened->first;
  *connection = opened;
  return 0;
}

void ovsdb_close(struct ovsdb_connection* connection) {
  if (!connection) return;
  while (connection->first) {
    struct notification* first = connection->first;
    connection->first = first->next;
    free(first->text);
    free(first);
  }
  jsonrpc_close(connection->rpc);
  free(connection);
}

static int keep_notification(struct ovsdb_connection* connection, struct jsonrpc_msg* message) {
  struct json* array =
      json_array_create_2(json_string_create(message->method), json_clone(message->params));
  struct notification* kept = xzalloc(sizeof *kept);
  kept->text = json_to_string(array, 0);
  json_destroy(array);
  *connection->end = kept;
  connection->end = &kept->next;
  connection->kept_bytes += strlen(kept->text);
  return connection->kept_bytes > kMostKeptBytes ? EMSGSIZE : 0;
}

static int answer_echo(struct ovsdb_connection* connection, struct jsonrpc_msg* message) {
  if (strcmp(message->method, "echo")) return 0;
  jsonrpc_send(connection->rpc, jsonrpc_create_reply(json_clone(message->params), message->id));
  return jsonrpc_get_backlog(connection->rpc) > kMostKeptBytes ? EMSGSIZE : 0;
}

// Receives at most one message. Handles a message that is no reply itself; *reply then stays NULL.
static int receive(struct ovsdb_connection* connection, struct jsonrpc_msg** reply) {
  *reply = NULL;
  jsonrpc_run(connection->rpc);
  struct jsonrpc_msg* message;
  int error = jsonrpc_recv(connection->rpc, &message);
  const unsigned int read_bytes = jsonrpc_get_received_bytes(connection->rpc);
  if (error == EAGAIN && read_bytes - connection->read_bytes > kLargestMessage) return EMSGSIZE;
  if (error) return error == EOF ? ECONNRESET : error;
  connection->read_bytes = read_bytes;
  switch (message->type) {
    case JSONRPC_REPLY:
    case JSONRPC_ERROR:
      *reply = message;
      return 0;
    case JSONRPC_NOTIFY:
      error = keep_notification(connection, message);
      break;
    case JSONRPC_REQUEST:
      error = answer_echo(connection, message);
      break;
  }
  jsonrpc_msg_destroy(message);
  return error;
}

int ovsdb_refresh(struct ovsdb_connection* connection) {
  for (int i = 0; i < kMostUnread; ++i) {
    struct jsonrpc_msg* reply;
    const int error = receive(connection, &reply);
    if (error) return error == EAGAIN ? 0 : error;
    jsonrpc_msg_destroy(reply);  // of a request that was posted
  }
  return EMSGSIZE;
}

// Called after a receive() that returned `error` and not the message that the caller waits for.
static int before_next(struct ovsdb_connection* connection, int error, struct ovsdb_limit limit) {
  if (error && error != EAGAIN) return error;
  const int over = ovsdb_is_over(limit);
  if (over || !error) return over;
  jsonrpc_wait(connection->rpc);
  jsonrpc_recv_wait(connection->rpc);
  ovsdb_wait(limit);
  return 0;
}

static int send_request(struct ovsdb_connection* connection, const char* method,
                        const char* params_text, struct json** id) {
  struct json* params = json_from_string(params_text);
  if (params->type != JSON_ARRAY) {
    json_destroy(params);
    return EINVAL;
  }
  const int error = jsonrpc_send(connection->rpc, jsonrpc_create_request(method, params, id));
  return error == EOF ? ECONNRESET : error;
}

static int receive_reply(struct ovsdb_connection* connection, const struct json* id,
                         struct ovsdb_limit limit, struct jsonrpc_msg** reply) {
  for (;;) {
    int error = receive(connection, reply);
    if (*reply && json_equal((*reply)->id, id)) return 0;
    jsonrpc_msg_destroy(*reply);
    *reply = NULL;
    error = before_next(connection, error, limit);
    if (error) return error;
  }
}

int ovsdb_call(struct ovsdb_connection* connection, const char* method, const char* params,
               struct ovsdb_limit limit, char** result) {
  *result = NULL;
  struct json* id = NULL;
  struct jsonrpc_msg* reply = NULL;
  int error = send_request(connection, method, params, &id);
  if (!error) error = receive_reply(connection, id, limit, &reply);
  json_destroy(id);
  if (error) return error;
  const bool refused = reply->type == JSONRPC_ERROR;
  *result = json_to_string(refused ? reply->error : reply->result, 0);
  jsonrpc_msg_destroy(reply);
  return refused ? EREMOTEIO : 0;
}

int ovsdb_post(struct ovsdb_connection* connection, const char* method, const char* params) {
  return send_request(connection, method, params, NULL);
}

int ovsdb_next(struct ovsdb_connection* connection, struct ovsdb_limit limit, char** notification) {
  *notification = NULL;
  while (!connection->first) {
    struct jsonrpc_msg* reply;
    int error = receive(connection, &reply);
    jsonrpc_msg_destroy(reply);
    if (!connection->first) error = before_next(connection, error, limit);
    if (error) return error;
  }
  struct notification* first = connection->first;
  connection->first = first->next;
  if (!connection->first) connection->end = &connection->first;
  connection->kept_bytes -= strlen(first->text);
  *notification = first->text;
  free(first);
  return 0;
}
