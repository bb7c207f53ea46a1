#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/log.h"
#include "base/thread_annotations.h"
#include "cni/protocol/agent_call.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// A line of the log for each call. A STATUS has one when its answer changes: kubelets want it
/// every 5 s, for ever. Thread-safe.
class CallLog {
 public:
  /// `time` is how long the call took.
  void Tell(LogLevel level, const AgentCall& call, const Request& request, const AgentReply& reply,
            std::chrono::steady_clock::duration time) EXCLUDES(mutex_);

 private:
  [[nodiscard]] bool IsNews(const Request& request, const AgentReply& reply) EXCLUDES(mutex_);

  Mutex mutex_;
  std::map<std::string, std::string> statuses_ GUARDED_BY(mutex_);  ///< the last, by network
};

}  // namespace kuryr::cni
