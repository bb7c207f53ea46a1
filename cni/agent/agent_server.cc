#include "cni/agent/agent_server.h"

#include <malloc.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/log.h"
#include "cni/agent/peer.h"
#include "cni/protocol/error.h"
#include "cni/protocol/request.h"
#include "cni/protocol/trace_id.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;

/// How long the other side may take to say what it wants, and to hear the answer.
constexpr auto kTransferTime = 5s;
/// How long calls may go on when the agent is to stop. An ADD can wait minutes for its producer,
/// and the next agent has to wait for this one.
constexpr time_t kDrainSeconds = 5;
/// Until the next try, where no descriptor or thread is left for a call. No event says when another
/// part of the process gives one back.
constexpr int kStarvedMilliseconds = 1000;
/// Stop signal, listener, finished calls, the drain's end; the calls' own come behind.
constexpr size_t kFirstCall = 4;
/// A request has some thousand bytes, and more where a pod's user has a runtime hand over
/// arguments. JSON's values take up to 20 times as much as its text.
constexpr size_t kUsualBytes = size_t{16} << 10;
constexpr size_t kMostBytes = size_t{512} << 10;
/// Calls at once whose memory is worth the time to give it back.
constexpr size_t kBurst = 16;

UniqueFd TimerOf(time_t seconds) {
  UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  const itimerspec time = {.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_nsec = 0}};
  if (!timer || ::timerfd_settime(timer.get(), 0, &time, nullptr) != 0) ThrowErrno("make a timer");
  return timer;
}

}  // namespace

AgentServer::AgentServer(UniqueFd listener, size_t max_calls, Handler handler)
    : listener_(std::move(listener)),
      max_calls_(max_calls),
      handler_(std::move(handler)),
      finished_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!finished_) ThrowErrno("eventfd");
}

std::vector<pollfd> AgentServer::Fds(int stop_fd) const {
  const bool takes_more = !starved_ && calls_.size() < max_calls_;
  std::vector<pollfd> fds = {
      {.fd = listener_ ? stop_fd : -1, .events = POLLIN, .revents = 0},
      {.fd = takes_more ? listener_.get() : -1, .events = POLLIN, .revents = 0},
      {.fd = finished_.get(), .events = POLLIN, .revents = 0},
      {.fd = drain_.get(), .events = POLLIN, .revents = 0}};
  for (const Call& call : calls_)
    fds.push_back(
        {.fd = call.cancelled ? -1 : call.socket.get(), .events = POLLRDHUP, .revents = 0});
  return fds;
}

int AgentServer::MostWait(int watchdog) const {
  if (!starved_) return watchdog;
  return watchdog < 0 ? kStarvedMilliseconds : std::min(watchdog, kStarvedMilliseconds);
}

void AgentServer::Run(int stop_fd, service::Watchdog watchdog) {
  while (listener_ || !calls_.empty()) {
    std::vector<pollfd> fds = Fds(stop_fd);
    const int ready = ::poll(fds.data(), fds.size(), MostWait(watchdog.Feed()));
    if (ready < 0) {
      if (errno == EINTR) continue;
      ThrowErrno("wait for calls");
    }
    if (ready == 0) starved_ = false;
    if (fds[0].revents != 0) {
      listener_.reset();
      drain_ = TimerOf(kDrainSeconds);
    }
    CancelGone(fds);
    if (fds[3].revents != 0) HandBack();
    eventfd_t count = 0;
    if (fds[2].revents != 0) (void)::eventfd_read(finished_.get(), &count);
    if (calls_.remove_if([](const Call& call) { return call.done.load(); }) > 0) starved_ = false;
    if (calls_.empty()) Rest();
    if (listener_ && fds[1].revents != 0) Accept();
  }
}

void AgentServer::CancelGone(const std::vector<pollfd>& fds) {
  size_t index = kFirstCall;
  for (Call& call : calls_) {
    if (fds[index++].revents == 0) continue;
    call.cancelled = true;
    call.cancel.Set();
  }
}

void AgentServer::HandBack() {
  drain_.reset();
  for (Call& call : calls_) {
    call.handed_back = true;
    call.cancelled = true;
    call.cancel.Set();
  }
}

/// glibc keeps for ever what a burst of calls needed. Its pods' plans go later, when the API server
/// tells of their end: at the rest after the next calls they are gone.
void AgentServer::Rest() {
  const bool was_burst = most_calls_ >= kBurst;
  if (was_burst || was_burst_) (void)::malloc_trim(0);
  was_burst_ = was_burst;
  most_calls_ = 0;
}

void AgentServer::Accept() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket && (errno == ECONNABORTED || errno == EINTR)) return;
  try {
    if (!socket) ThrowErrno("take a call");
    Call& call = calls_.emplace_back();
    call.socket = std::move(socket);
    call.thread = std::jthread([this, &call] { Answer(call); });
    most_calls_ = std::max(most_calls_, calls_.size());
  } catch (const std::system_error& e) {
    if (!calls_.empty() && !calls_.back().thread.joinable()) calls_.pop_back();
    // The backlog would wake us again at once.
    starved_ = true;
    Log(LogLevel::kError, "a call could not be taken", {{"error", e.what()}});
  }
}

void AgentServer::Admit(Call& call, size_t bytes) {
  if (bytes <= kUsualBytes) return;
  if (bytes > kMostBytes) {
    throw CniError(
        ErrorCode::kInvalidConfig, "the request is too large",
        std::to_string(bytes) + " bytes, at most " + std::to_string(kMostBytes) + " are accepted");
  }
  call.bytes = bytes;
  const size_t all = bytes_ += bytes;
  if (all <= kMostBytes) return;
  throw CniError(ErrorCode::kTryAgainLater, "kuryr-daemon has too many large requests at work",
                 "this one has " + std::to_string(bytes) + " bytes, and together they may have " +
                     std::to_string(kMostBytes));
}

void AgentServer::Serve(Call& call) {
  std::optional<LogScope> scope;
  AgentReply reply;
  try {
    const AgentCall request =
        ReceiveCall(call.socket.get(), Deadline::After(kTransferTime, call.cancel.fd()),
                    [&](size_t bytes) { Admit(call, bytes); });
    scope.emplace(LogField(kTraceIdField, request.trace_id));
    reply = handler_(request, call.cancel);
  } catch (const CniError& e) {
    Log(LogLevel::kWarning, "a call was refused", {{"error", e.what()}, {"details", e.details()}});
    reply = {.status = 1, .out = ErrorJson(e, AnswerVersion(""))};
  }
  if (reply.status == 0 || !call.handed_back)
    SendReply(call.socket.get(), reply, Deadline::After(kTransferTime));
}

void AgentServer::Answer(Call& call) {
  try {
    if (const auto why = WhyUntrusted(call.socket.get())) {
      Log(LogLevel::kWarning, "a call was refused", {{"from", *why}});
    } else {
      Serve(call);
    }
  } catch (const std::system_error& e) {
    Log(LogLevel::kWarning,
        IsPeerGone(e) ? "the plugin went away before its answer" : "a call could not be answered",
        {{"error", e.what()}});
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "a call could not be answered", {{"error", e.what()}});
  }
  bytes_ -= call.bytes;
  ::shutdown(call.socket.get(), SHUT_RDWR);
  call.done = true;
  (void)::eventfd_write(finished_.get(), 1);
}

}  // namespace kuryr::cni
