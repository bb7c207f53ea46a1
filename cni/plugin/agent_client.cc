#include "cni/plugin/agent_client.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"
#include "base/socket_watch.h"
#include "cni/agent_absence.h"
#include "cni/attachments/attachment_record.h"
#include "cni/attachments/attachment_store.h"
#include "cni/commands/command_table.h"
#include "cni/protocol/agent_query.h"
#include "cni/protocol/agent_socket.h"
#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

AgentCall CallFor(const Request& request, const std::string& trace_id) {
  AgentCall call;
  call.trace_id = trace_id;
  call.environment = {.command = ToString(request.command),
                      .container_id = request.container_id,
                      .netns = request.netns,
                      .ifname = request.ifname,
                      .args = request.args,
                      .path = request.path,
                      .netns_override = request.netns_override ? "1" : ""};
  call.input = request.config.json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // When the path cannot be opened, the agent says why.
  if (!request.netns.empty())
    call.netns.reset(::open(request.netns.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return call;
}

bool NobodyListens(const std::system_error& error) {
  return error.code() == std::errc::no_such_file_or_directory ||
         error.code() == std::errc::connection_refused;
}

/// An agent that has held a request for so long was up: the next failure is a new outage.
constexpr std::chrono::seconds kHeld{1};

/// After kQuietTime without a reply, the agent has kAnswerTime to say that it is alive.
constexpr std::chrono::seconds kQuietTime{3};
constexpr std::chrono::seconds kAnswerTime{10};

/// A STATUS without an answer for so long asks whether the agent is alive, which takes as long at
/// most.
constexpr std::chrono::seconds kPrompt{1};
/// The agent gives up a STATUS at the deadline, and says why within this time.
constexpr std::chrono::seconds kStatusGrace{1};

/// Whether the request needs the runtime's environment, for a delegated plugin of the network or of
/// the ADD's record. Networks of ovs-cni need its folders and their own Open vSwitch.
bool HasDelegate(const Request& request, const Config& config) {
  if (request.config.standalone || request.config.is_ovs_cni || !request.config.ipam.empty())
    return true;
  const bool of_all = request.command == Command::kGc;
  if (!of_all && request.command != Command::kDel && request.command != Command::kCheck)
    return false;
  const AttachmentStore attachments(config.state_dir);
  const std::string& network = request.config.name;
  const auto keys =
      of_all ? attachments.List(network)
             : std::vector<AttachmentKey>{{network, request.container_id, request.ifname}};
  return std::any_of(keys.begin(), keys.end(), [&](const AttachmentKey& key) {
    const auto record = attachments.Find(key);
    return record && !record->delegate_config.empty();
  });
}

/// Hands one request over until an agent answers.
class Handover {
 public:
  Handover(const Request& request, const Config& config, const std::string& trace_id, int cancel_fd)
      : request_(request),
        config_(config),
        socket_folder_(std::filesystem::path(config.agent_socket).parent_path()),
        call_(CallFor(request, trace_id)),
        deadline_(Deadline::After(LongestFor(request.command, config), cancel_fd)) {}

  std::variant<AgentReply, NoAgent> Run() {
    while (true) {
      try {
        return Try();
      } catch (const std::system_error& e) {
        const bool absent = e.code() == std::errc::no_such_file_or_directory;
        if (absent && config_.use_agent == UseAgent::kAuto) return NoAgent{};
        const bool down = NobodyListens(e);
        const bool cut_off = IsPeerGone(e);
        if (cut_off && WasHeld()) EndOutage();
        // Another agent may listen now: try once more.
        if (cut_off && !std::exchange(cut_off_, true)) continue;
        if ((down || cut_off) && AwaitAgent(e)) continue;
        return Without(down ? NoAgent::State::kDown : NoAgent::State::kSilent, e.what());
      } catch (const ParseError& e) {
        return Without(NoAgent::State::kSilent, e.what());
      }
    }
  }

 private:
  AgentReply Try() {
    // The agent has the same deadline, and answers with an error of its own when it passes.
    const Deadline deadline = {.at = deadline_.at + kUndoTime, .cancel_fd = deadline_.cancel_fd};
    handed_over_.reset();
    const UniqueFd socket = ConnectTo(config_.agent_socket, deadline);
    SendCall(socket.get(), call_, deadline);
    handed_over_ = Deadline::Clock::now();
    try {
      AwaitReplyOfLiving(socket.get(), deadline);
      return ReceiveReply(socket.get(), deadline);
    } catch (const std::system_error& e) {
      if (e.code() != std::errc::operation_canceled) throw;
      // This cancels the call. The agent answers when it has undone the call.
      ::shutdown(socket.get(), SHUT_WR);
      return ReceiveReply(socket.get(), Deadline::After(kUndoTime));
    }
  }

  /// Throws ETIMEDOUT when the agent does not even answer whether it is alive.
  void AwaitReplyOfLiving(int socket, const Deadline& deadline) const {
    while (deadline.Remaining().count() > 0) {
      if (AwaitReply(socket, deadline.AtMost(kQuietTime))) return;
      if (IsStuck(StatusSocketOf(config_.agent_socket), deadline.AtMost(kAnswerTime)))
        ThrowErrno(ETIMEDOUT, "the process at " + config_.agent_socket + " stands still");
    }
  }

  [[nodiscard]] bool WasHeld() const {
    return handed_over_ && Deadline::Clock::now() - *handed_over_ >= kHeld;
  }

  void EndOutage() {
    outage_.reset();
    cut_off_ = false;
  }

  /// Waits for an agent. True when one may be there now.
  bool AwaitAgent(const std::system_error& why) {
    if (request_.command != Command::kAdd || config_.agent_wait.count() == 0) return false;
    if (outage_) {
      if (!outage_->watch.Wait(outage_->patience)) return false;
    } else {
      Log(LogLevel::kInfo, "kuryr-daemon does not answer: waiting for it",
          {{"socket", config_.agent_socket}, {"error", why.what()}});
      outage_.emplace(config_.agent_socket, deadline_.AtMost(config_.agent_wait));
    }
    outage_->watch.Begin(std::make_shared<FolderWatch>(socket_folder_));
    return true;
  }

  /// Throws for an ADD: it needs the pods' events, which only the agent has.
  [[nodiscard]] NoAgent Without(NoAgent::State state, const std::string& why) const {
    if (request_.command != Command::kAdd) return {.state = state, .why = why};
    throw CniError(ErrorCode::kTryAgainLater, Waited(), why);
  }

  [[nodiscard]] std::string Waited() const {
    if (!outage_) return "kuryr-daemon does not answer at " + config_.agent_socket;
    const auto waited =
        std::chrono::duration_cast<std::chrono::seconds>(Deadline::Clock::now() - outage_->begin);
    return "kuryr-daemon is down, or being restarted: waited " + std::to_string(waited.count()) +
           " s for it at " + config_.agent_socket;
  }

  /// Lasts from a try that failed until an agent has held the request for a while.
  struct Outage {
    Outage(const std::string& socket, const Deadline& patience_)
        : watch(socket), patience(patience_) {}

    SocketWatch watch;
    const Deadline patience;
    const Deadline::Clock::time_point begin = Deadline::Clock::now();
  };

  const Request& request_;
  const Config& config_;
  const std::string socket_folder_;
  const AgentCall call_;
  const Deadline deadline_;
  std::optional<Deadline::Clock::time_point> handed_over_;  ///< when it was last handed over
  bool cut_off_ = false;                                    ///< the agent has broken off once
  std::optional<Outage> outage_;
};

/// The answer to a STATUS that the agent does not answer. The kubelet takes code 50 for a node that
/// is not ready, whose pods may be evicted. So an absence in which an ADD would wait is none: an
/// agent that is started anew or replaced.
AgentReply StatusOfAbsence(const AgentAbsence& absence, const Config& config,
                           const std::string& why) {
  const auto patience = std::min(config.agent_wait, LongestFor(Command::kAdd, config));
  const auto away = patience.count() > 0 ? absence.Note() : std::chrono::milliseconds(0);
  if (away < patience) {
    if (away.count() == 0)
      Log(LogLevel::kInfo, "kuryr-daemon does not answer: ADDs wait for it",
          {{"socket", config.agent_socket}, {"error", why}});
    return {};
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(away).count();
  throw CniError(ErrorCode::kNotAvailable,
                 "kuryr-daemon has not answered at " + config.agent_socket + " for " +
                     std::to_string(seconds) + " s, and ADDs wait for " +
                     std::to_string(patience.count()) + " s ([cni_daemon] agent_wait)",
                 why);
}

/// A STATUS asks once, and waits for no agent that is away.
std::variant<AgentReply, NoAgent> AskForStatus(const Request& request, const Config& config,
                                               const std::string& trace_id, int cancel_fd) {
  const Deadline deadline =
      Deadline::After(LongestFor(Command::kStatus, config) + kStatusGrace, cancel_fd);
  const AgentAbsence absence(config.agent_socket);
  try {
    const UniqueFd socket = ConnectTo(config.agent_socket, deadline);
    SendCall(socket.get(), CallFor(request, trace_id), deadline);
    // systemd keeps the socket of an agent that is away. The status socket is the agent's own.
    if (!AwaitReply(socket.get(), deadline.AtMost(kPrompt)))
      (void)QueryAgent(StatusSocketOf(config.agent_socket), "alive", "", kPrompt);
    AgentReply reply = ReceiveReply(socket.get(), deadline);
    absence.End();
    return reply;
  } catch (const std::system_error& e) {
    const bool absent = e.code() == std::errc::no_such_file_or_directory;
    if (absent && config.use_agent == UseAgent::kAuto) return NoAgent{};
    if (e.code() == std::errc::operation_canceled) throw;
    return StatusOfAbsence(absence, config, e.what());
  } catch (const std::runtime_error& e) {
    return StatusOfAbsence(absence, config, e.what());
  }
}

}  // namespace

std::variant<AgentReply, NoAgent> AskAgent(const Request& request, const Config& config,
                                           const std::string& trace_id, int cancel_fd) {
  if (config.use_agent == UseAgent::kNever || HasDelegate(request, config)) return NoAgent{};
  if (request.command == Command::kStatus)
    return AskForStatus(request, config, trace_id, cancel_fd);
  return Handover(request, config, trace_id, cancel_fd).Run();
}

}  // namespace kuryr::cni
