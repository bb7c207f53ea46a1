#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "kubelet/frame.h"
#include "kubelet/http2_session.h"
#include "kubelet/poll_set.h"
#include "kubelet/server.h"

namespace kuryr::kubelet {

/// One peer of a server, and its calls. Not thread-safe.
class ServerConnection final : private Http2Events {
 public:
  using Clock = Deadline::Clock;

  /// Borrows its arguments except the socket. `process` is the peer's, 0 if it is not known. `poll`
  /// waits for the socket until the destructor.
  ServerConnection(UniqueFd socket, pid_t process, PollSet& poll, const Methods& methods,
                   const ServerLimits& limits);
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;
  ~ServerConnection() override;

  /// Reads, calls handlers, writes. False when the connection is over.
  [[nodiscard]] bool Advance();
  /// Ends late calls. False when the connection itself is late.
  [[nodiscard]] bool Expire(Clock::time_point now);
  /// The earliest time at which Expire has something to do.
  [[nodiscard]] Clock::time_point alarm() const;
  [[nodiscard]] pid_t process() const noexcept { return process_; }
  /// The end of the last call, or the begin of the connection; max() while a call is open.
  [[nodiscard]] Clock::time_point idle_since() const noexcept {
    return calls_.empty() ? idle_since_ : Clock::time_point::max();
  }

 private:
  class Answers;

  struct Incoming {
    explicit Incoming(const ServerLimits& limits);

    std::string path;
    bool is_grpc = false;
    size_t header_bytes = 0;
    FrameReader reader;
    std::optional<Status> refusal;  ///< decided before the request was whole
    bool answered = false;
    Clock::time_point asked_by;  ///< the request must be whole, or its answer read, by then
    Clock::time_point deadline = Clock::time_point::max();  ///< of the call itself
    std::shared_ptr<Answers> answers;                       ///< of a streaming call
  };

  [[nodiscard]] bool OnHeader(int32_t stream, std::string_view name,
                              std::string_view value) override;
  void OnData(int32_t stream, std::string_view bytes) override;
  void OnEnd(int32_t stream) override;
  void OnClosed(int32_t stream, uint32_t error) override;

  [[nodiscard]] size_t AskedBytes() const;
  void Refuse(int32_t stream, Incoming& call, Status status);
  void Answer(int32_t stream);
  void AnswerUnary(int32_t stream, const UnaryHandler& handler, const std::string& request);
  void AnswerStreaming(int32_t stream, const StreamHandler& handler, const std::string& request);
  void AnswerStatus(int32_t stream, const Status& status);
  void Write(int32_t stream, const std::string& message);
  void Finish(int32_t stream, const Status& status);
  /// Sends a status on a stream that is being answered. Resets other streams: their peer did not
  /// ask in time, or does not read its answer.
  void EndLate(int32_t stream);
  void Reset(int32_t stream, uint32_t error);
  /// False when the connection is over.
  bool Flush();

  const pid_t process_;
  PollSet& poll_;
  const Methods& methods_;
  const ServerLimits limits_;
  const Clock::time_point greeted_by_;
  std::map<int32_t, Incoming> calls_;
  Clock::time_point idle_since_ = Clock::now();
  std::vector<int32_t> whole_;  ///< requests to be answered
  bool waits_to_write_ = false;
  Http2Session session_;
};

}  // namespace kuryr::kubelet
