#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/thread_annotations.h"
#include "binding/ovs/openflow.h"

namespace kuryr::binding {

/// Idle connections by bridge, so that a call need not connect. Keeps at most a few of each bridge.
/// Thread-safe.
class OpenFlowConnections {
 public:
  using Work = std::function<void(OpenFlow& bridge)>;

  /// Has a connection for the next Use greet ovs-vswitchd meanwhile. A failure is left to Use.
  void Prepare(const std::string& ovsdb_connection, const std::string& bridge,
               const Deadline& deadline) EXCLUDES(mutex_);
  /// Does `work`, which may be done twice, with a connection as OpenFlow's: ovs-vswitchd may end
  /// just when an idle one is taken. Throws what OpenFlow and `work` do.
  void Use(const std::string& ovsdb_connection, const std::string& bridge, const Deadline& deadline,
           const Work& work) EXCLUDES(mutex_);

 private:
  /// An idle one that ovs-vswitchd has not closed; null if there is none.
  [[nodiscard]] std::unique_ptr<OpenFlow> Take(const std::string& bridge) EXCLUDES(mutex_);
  void Keep(const std::string& bridge, std::unique_ptr<OpenFlow> connection) EXCLUDES(mutex_);

  Mutex mutex_;
  std::map<std::string, std::vector<std::unique_ptr<OpenFlow>>> idle_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::binding
