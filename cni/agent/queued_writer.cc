#include "cni/agent/queued_writer.h"

#include <optional>
#include <utility>

namespace kuryr::cni {

QueuedWriter::QueuedWriter(const watcher::ApiConfig& config)
    : client_(ForWrites(config)), thread_([this](const std::stop_token& stop) { Run(stop); }) {}

QueuedWriter::~QueuedWriter() {
  client_.Stop();
  thread_.request_stop();
  thread_.join();
}

void QueuedWriter::WriteLater(ApiWrite write) {
  std::optional<Queued> dropped;
  {
    const MutexLock lock(mutex_);
    if (queue_.size() == kMost) {
      dropped = std::move(queue_.front());
      queue_.pop_front();
    }
    queue_.push_back({.write = std::move(write), .log_context = LogContext::Current()});
    changed_.notify_one();
  }
  if (!dropped) return;
  const LogScope scope(std::move(dropped->log_context));
  Log(LogLevel::kWarning, "not told to the API server",
      {{"path", dropped->write.path}, {"error", "too many wait"}});
}

void QueuedWriter::Run(const std::stop_token& stop) {
  while (true) {
    Queued next;
    {
      const MutexLock lock(mutex_);
      const bool more =
          changed_.wait(mutex_, stop, [&]() REQUIRES(mutex_) { return !queue_.empty(); });
      if (!more || stop.stop_requested()) return;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    const LogScope scope(std::move(next.log_context));
    try {
      Send(std::move(next.write), client_);
    } catch (const std::exception& e) {
      Log(LogLevel::kDebug, "not told to the API server", {{"error", e.what()}});
    }
  }
}

}  // namespace kuryr::cni
