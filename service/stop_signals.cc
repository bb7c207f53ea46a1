#include "service/stop_signals.h"

#include <sys/signalfd.h>

#include <csignal>

#include "base/error.h"

namespace kuryr::service {

UniqueFd StopSignalsAsFd() {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGALRM}) ::sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) ThrowErrno("signalfd");
  return fd;
}

}  // namespace kuryr::service
