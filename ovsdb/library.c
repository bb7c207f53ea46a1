// config.h comes first: it defines _GNU_SOURCE.
#include <config.h>

#include "ovsdb/library.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fatal-signal.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "stream-ssl.h"
#include "timeval.h"
#include "util.h"

// The library's TLS state is process-wide and has no lock. This lock is held while its files are
// read, and by each connection until it is established.
static pthread_mutex_t tls_mutex = PTHREAD_MUTEX_INITIALIZER;

// Each file has two names; tls_turn selects the current one.
struct tls_file {
  char* names[2];
};
static struct tls_file tls_private_key, tls_certificate, tls_ca_certificate;
static int tls_turn;

// fatal_signal_init replaces default dispositions of these signals. The signals belong to the
// program, so this function restores its dispositions.
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

// The library opens a pipe, and ends the program if that fails.
int ovsdb_init_library(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  int ends[2];
  if (pipe(ends)) return errno;
  close(ends[0]);
  close(ends[1]);
  pthread_once(&once, init_library);
  return 0;
}

int ovsdb_is_over(struct ovsdb_limit limit) {
  if (limit.cancel_fd >= 0) {
    struct pollfd cancel = {.fd = limit.cancel_fd, .events = POLLIN};
    if (poll(&cancel, 1, 0) > 0) return cancel.revents & POLLNVAL ? EBADF : ECANCELED;
  }
  return time_msec() >= limit.deadline_ms ? ETIMEDOUT : 0;
}

// Register all other wake-ups of the caller before. The caller checks its condition again
// afterwards.
void ovsdb_wait(struct ovsdb_limit limit) {
  if (limit.cancel_fd >= 0) poll_fd_wait(limit.cancel_fd, POLLIN);
  if (limit.deadline_ms != INT64_MAX) poll_timer_wait_until(limit.deadline_ms);
  poll_block();
}

static void set_tls_file(struct tls_file* file, const char* name) {
  free(file->names[0]);
  free(file->names[1]);
  file->names[0] = xstrdup(name);
  file->names[1] = xasprintf("%s%s", name[0] == '/' ? "/." : "./", name);
}

// The library skips files that it has read, by name and mtime, and skips a new certificate unless
// its key is also new. Under another name it reads all files.
void ovsdb_read_tls(void) {
  if (!tls_private_key.names[0]) return;
  tls_turn = !tls_turn;
  stream_ssl_set_key_and_cert(tls_private_key.names[tls_turn], tls_certificate.names[tls_turn]);
  stream_ssl_set_ca_cert_file(tls_ca_certificate.names[tls_turn], false);
  // A missing or half-written file leaves an error, which the connection would take for its own.
  ERR_clear_error();
}

bool ovsdb_lock_tls(const char* remote) {
  const bool is_tls = !strncmp(remote, "ssl:", strlen("ssl:"));
  if (is_tls) pthread_mutex_lock(&tls_mutex);
  return is_tls;
}

void ovsdb_unlock_tls(void) { pthread_mutex_unlock(&tls_mutex); }

void ovsdb_use_tls(const char* private_key, const char* certificate, const char* ca_certificate) {
  pthread_mutex_lock(&tls_mutex);
  set_tls_file(&tls_private_key, private_key);
  set_tls_file(&tls_certificate, certificate);
  set_tls_file(&tls_ca_certificate, ca_certificate);
  pthread_mutex_unlock(&tls_mutex);
}
