#include "cni/agent/call_log.h"

#include <optional>
#include <utility>

namespace kuryr::cni {
namespace {

/// A node has a few networks. With more of them their lines are not saved.
constexpr size_t kMostStatuses = 64;

}  // namespace

void CallLog::Tell(LogLevel level, const AgentCall& call, const Request& request,
                   const AgentReply& reply, std::chrono::steady_clock::duration time) {
  const auto text = [](const std::optional<std::string>& value) { return value.value_or(""); };
  Log(IsNews(request, reply) ? level : LogLevel::kDebug, "call",
      {{"command", text(call.environment.command)},
       {"container", text(call.environment.container_id)},
       {"ifname", text(call.environment.ifname)},
       {"pod", request.pod.name.empty() ? "" : request.pod.name_space + "/" + request.pod.name},
       {"us", std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(time).count())},
       {"error", reply.status == 0 ? "" : reply.out}});
}

bool CallLog::IsNews(const Request& request, const AgentReply& reply) {
  if (request.command != Command::kStatus) return true;
  const MutexLock lock(mutex_);
  if (statuses_.size() >= kMostStatuses) statuses_.clear();
  const auto [last, is_first] = statuses_.try_emplace(request.config.name, reply.out);
  return is_first || std::exchange(last->second, reply.out) != reply.out;
}

}  // namespace kuryr::cni
