// First: it defines _GNU_SOURCE.
#include <config.h>

#include "binding/ovs/ovsdb_shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fatal-signal.h"
#include "jsonrpc.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "stream-ssl.h"
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
};

enum { kQueueRetryMs = 5 };

static pthread_mutex_t tls_mutex = PTHREAD_MUTEX_INITIALIZER;

// fatal_signal_init takes these wherever the disposition is the default; the signals are the
// program's, so its dispositions are put back.
static void init_signals(void) {
  static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGALRM, SIGSEGV};
  enum { kCount = sizeof signals / sizeof signals[0] };
  struct sigaction before[kCount];
  for (int i = 0; i < kCount; ++i) sigaction(signals[i], NULL, &before[i]);
  fatal_signal_run();
  for (int i = 0; i < kCount; ++i) sigaction(signals[i], &before[i], NULL);
  fatal_ignore_sigpipe();
}

static void init_library(void) {
  vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
  init_signals();
  // Its poll loop asserts that no descriptor is 0, which a socket would get if stdin was closed.
  if (fcntl(STDIN_FILENO, F_GETFD) < 0) {
    const int fd = open("/dev/null", O_RDWR);
    if (fd > STDIN_FILENO) close(fd);
  }
}

static void init_library_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, init_library);
}

static int is_over(int64_t deadline_ms, int cancel_fd) {
  if (cancel_fd >= 0) {
    struct pollfd cancel = {.fd = cancel_fd, .events = POLLIN};
    if (poll(&cancel, 1, 0) > 0) return cancel.revents & POLLNVAL ? EBADF : ECANCELED;
  }
  return time_msec() >= deadline_ms ? ETIMEDOUT : 0;
}

// To be called with whatever else wakes the caller already registered; the caller looks again.
static void wait_until(int64_t deadline_ms, int cancel_fd) {
  if (cancel_fd >= 0) poll_fd_wait(cancel_fd, POLLIN);
  if (deadline_ms != INT64_MAX) poll_timer_wait_until(deadline_ms);
  poll_block();
}

static int connect_stream(struct stream* stream, int64_t deadline_ms, int cancel_fd) {
  for (;;) {
    stream_run(stream);
    int error = stream_connect(stream);
    if (error != EAGAIN) return error;
    error = is_over(deadline_ms, cancel_fd);
    if (error) return error;
    stream_run_wait(stream);
    stream_connect_wait(stream);
    wait_until(deadline_ms, cancel_fd);
  }
}

// EPROTO from here is a unix socket's EAGAIN, and nothing else: the server is there, but its queue
// of connections is full (ovsdb-server's has 64 places). No event tells of a free one. In TCP the
// kernel tries again by itself, and what a peer says or is comes later, from connect_stream().
static int open_stream(const char* remote, int64_t deadline_ms, int cancel_fd,
                       struct stream** stream) {
  for (;;) {
    const int error = jsonrpc_stream_open(remote, stream, 0);
    if (error != EPROTO) return error;
    const int over = is_over(deadline_ms, cancel_fd);
    if (over) return over == ETIMEDOUT ? EAGAIN : over;
    wait_until(MIN(deadline_ms, time_msec() + kQueueRetryMs), cancel_fd);
  }
}

int ovsdb_open(const char* remote, int64_t deadline_ms, int cancel_fd,
               struct ovsdb_connection** connection) {
  *connection = NULL;
  if (cancel_fd == 0) return EINVAL;
  init_library_once();
  struct stream* stream = NULL;
  int error = open_stream(remote, deadline_ms, cancel_fd, &stream);
  if (error) return error;
  error = connect_stream(stream, deadline_ms, cancel_fd);
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

void ovsdb_use_tls(const char* private_key, const char* certificate, const char* ca_certificate) {
  init_library_once();
  pthread_mutex_lock(&tls_mutex);
  stream_ssl_set_key_and_cert(private_key, certificate);
  stream_ssl_set_ca_cert_file(ca_certificate, false);
  pthread_mutex_unlock(&tls_mutex);
}

static void keep_notification(struct ovsdb_connection* connection, struct jsonrpc_msg* message) {
  struct json* array =
      json_array_create_2(json_string_create(message->method), json_clone(message->params));
  struct notification* kept = xzalloc(sizeof *kept);
  kept->text = json_to_string(array, 0);
  json_destroy(array);
  *connection->end = kept;
  connection->end = &kept->next;
}

// Receives at most one message. What is no reply is dealt with here; *reply stays NULL then.
static int receive(struct ovsdb_connection* connection, struct jsonrpc_msg** reply) {
  *reply = NULL;
  jsonrpc_run(connection->rpc);
  struct jsonrpc_msg* message;
  const int error = jsonrpc_recv(connection->rpc, &message);
  if (error) return error == EOF ? ECONNRESET : error;
  switch (message->type) {
    case JSONRPC_REPLY:
    case JSONRPC_ERROR:
      *reply = message;
      return 0;
    case JSONRPC_NOTIFY:
      keep_notification(connection, message);
      break;
    case JSONRPC_REQUEST:
      if (!strcmp(message->method, "echo")) {
        jsonrpc_send(connection->rpc,
                     jsonrpc_create_reply(json_clone(message->params), message->id));
      }
      break;
  }
  jsonrpc_msg_destroy(message);
  return 0;
}

int ovsdb_refresh(struct ovsdb_connection* connection) {
  for (;;) {
    struct jsonrpc_msg* reply;
    const int error = receive(connection, &reply);
    if (error) return error == EAGAIN ? 0 : error;
    jsonrpc_msg_destroy(reply);  // of a request that was posted
  }
}

// After a receive() that returned `error`, and not what the caller waits for.
static int before_next(struct ovsdb_connection* connection, int error, int64_t deadline_ms,
                       int cancel_fd) {
  if (error && error != EAGAIN) return error;
  const int over = is_over(deadline_ms, cancel_fd);
  if (over || !error) return over;
  jsonrpc_wait(connection->rpc);
  jsonrpc_recv_wait(connection->rpc);
  wait_until(deadline_ms, cancel_fd);
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
                         int64_t deadline_ms, int cancel_fd, struct jsonrpc_msg** reply) {
  for (;;) {
    int error = receive(connection, reply);
    if (*reply && json_equal((*reply)->id, id)) return 0;
    jsonrpc_msg_destroy(*reply);
    *reply = NULL;
    error = before_next(connection, error, deadline_ms, cancel_fd);
    if (error) return error;
  }
}

int ovsdb_call(struct ovsdb_connection* connection, const char* method, const char* params,
               int64_t deadline_ms, int cancel_fd, char** result) {
  *result = NULL;
  struct json* id = NULL;
  struct jsonrpc_msg* reply = NULL;
  int error = send_request(connection, method, params, &id);
  if (!error) error = receive_reply(connection, id, deadline_ms, cancel_fd, &reply);
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

int ovsdb_next(struct ovsdb_connection* connection, int64_t deadline_ms, int cancel_fd,
               char** notification) {
  *notification = NULL;
  while (!connection->first) {
    struct jsonrpc_msg* reply;
    int error = receive(connection, &reply);
    jsonrpc_msg_destroy(reply);
    if (!connection->first) error = before_next(connection, error, deadline_ms, cancel_fd);
    if (error) return error;
  }
  struct notification* first = connection->first;
  connection->first = first->next;
  if (!connection->first) connection->end = &connection->first;
  *notification = first->text;
  free(first);
  return 0;
}
