#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "base/thread_annotations.h"
#include "binding/attachment.h"
#include "cni/node_context.h"

namespace kuryr::cni {

/// Removes the ports of Open vSwitch that nobody else will delete: those without a record whose pod
/// is gone. They are left where pods went while records and the runtime's state were lost. Ports of
/// a network without a producer stay, whatever the API server knows, and so do those of static
/// pods, which may run without it. Thread-safe.
class PortSweep {
 public:
  /// Both are asked from the sweep's own thread.
  struct Questions {
    /// Whether all pods of the node are known now.
    std::function<bool()> knows_pods;
    std::function<bool(const std::string& uid)> has_pod;
  };

  /// Looks every `grace` until a look finds nothing; what two looks in a row find is removed.
  /// `node` is borrowed.
  PortSweep(const NodeContext& node, Questions questions, std::chrono::milliseconds grace);
  PortSweep(const PortSweep&) = delete;
  PortSweep& operator=(const PortSweep&) = delete;

 private:
  void Run(const std::stop_token& stop) EXCLUDES(mutex_);
  /// Removes what was an orphan before, too. What is one now, and still there.
  [[nodiscard]] std::vector<AttachmentKey> Look(const std::vector<AttachmentKey>& before,
                                                const Deadline& deadline);
  [[nodiscard]] bool IsOrphan(const binding::FoundPlug& port) const;
  /// False when it is to be tried again.
  bool Remove(const binding::FoundPlug& port, const Deadline& deadline);

  const NodeContext& node_;
  const Questions questions_;
  const std::chrono::milliseconds grace_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace kuryr::cni
