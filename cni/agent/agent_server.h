#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <thread>
#include <vector>

#include "base/event_fd.h"
#include "base/unique_fd.h"
#include "cni/protocol/agent_call.h"
#include "service/notify.h"

namespace kuryr::cni {

/// Takes calls from a listening unix socket. Each is answered in a thread of its own: an ADD may
/// wait a minute, and a DEL is not to wait for it. Only root of our own user namespace is heard.
class AgentServer {
 public:
  /// `cancel` is set when the other side has gone.
  using Handler = std::function<AgentReply(const AgentCall& call, const EventFd& cancel)>;

  /// With `max_calls` at work no further one is taken: the kernel's backlog holds them. What has
  /// more bytes than usual is refused, with an error, where such at work have too many already.
  AgentServer(UniqueFd listener, size_t max_calls, Handler handler);

  /// Serves until `stop_fd` is readable; then closes the listener, and returns when the calls at
  /// work have been answered. What is not done 5 s later is undone, and its socket closed without
  /// an answer. Calls in the backlog are reset, unless somebody else holds the listener, too
  /// (systemd). All of these are for the next agent. Feeds the watchdog meanwhile.
  void Run(int stop_fd, service::Watchdog watchdog);

 private:
  struct Call {
    UniqueFd socket;
    EventFd cancel;
    size_t bytes = 0;  ///< as far as they count
    bool cancelled = false;
    std::atomic<bool> handed_back = false;
    std::atomic<bool> done = false;
    std::jthread thread;
  };

  [[nodiscard]] std::vector<pollfd> Fds(int stop_fd) const;
  [[nodiscard]] int MostWait(int watchdog) const;
  void Accept();
  void Admit(Call& call, size_t bytes);
  void Serve(Call& call);
  void Answer(Call& call);
  void CancelGone(const std::vector<pollfd>& fds);
  void HandBack();
  void Rest();

  UniqueFd listener_;  ///< unset once the server is to stop
  const size_t max_calls_;
  const Handler handler_;
  UniqueFd finished_;     ///< eventfd: a call is done
  UniqueFd drain_;        ///< timerfd: calls at work have had their time; unset while serving
  bool starved_ = false;  ///< of descriptors or threads: the next call waits for some
  std::atomic<size_t> bytes_ = 0;  ///< of the large requests at work
  size_t most_calls_ = 0;          ///< at once, since there were none
  bool was_burst_ = false;         ///< when there were none for the last time
  std::list<Call> calls_;
};

}  // namespace kuryr::cni
