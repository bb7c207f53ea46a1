#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "binding/ovs/flow.h"

namespace kuryr::binding {

/// A connection to ovs-vswitchd for the flows of one bridge. Throws std::system_error: ENOENT and
/// ECONNREFUSED where ovs-vswitchd or the bridge is not there, ECONNRESET when it ends. Throws
/// OvsError for what ovs-vswitchd refuses. Not thread-safe.
class OpenFlow {
 public:
  /// `ovsdb_connection`: as BindingConfig::ovsdb_connection; the bridge's socket is in its folder.
  /// Does not wait for ovs-vswitchd's answer.
  OpenFlow(const std::string& ovsdb_connection, const std::string& bridge,
           const Deadline& deadline);
  /// The folder with the sockets of all bridges.
  [[nodiscard]] static std::string FolderOf(const std::string& ovsdb_connection);

  /// Errors of earlier messages are no more this caller's. False when ovs-vswitchd has ended.
  [[nodiscard]] bool Begin();
  /// Adds a flow, in the place of one with its priority and match.
  void Add(uint64_t cookie, const Flow& flow);
  /// Deletes the flows of table 0 that have `match` and these bits of the cookie.
  void Delete(uint64_t cookie, uint64_t mask, const FlowMatch& match);
  /// Sends what was added and deleted: ovs-vswitchd does it even if this process ends. Waits for a
  /// new connection's greeting only.
  void Send(const Deadline& deadline);
  /// Sends, and returns when ovs-vswitchd has done all, in order.
  void Finish(const Deadline& deadline);
  /// The number of flows of table 0 that have `match` and these bits of the cookie.
  [[nodiscard]] uint32_t Count(uint64_t cookie, uint64_t mask, const FlowMatch& match,
                               const Deadline& deadline);
  /// The flows of table 0 that have these bits of the cookie.
  [[nodiscard]] std::vector<PresentFlow> List(uint64_t cookie, uint64_t mask,
                                              const Deadline& deadline);
  /// Returns when ovs-vswitchd ends, or removes the bridge.
  void WaitUntilClosed(const Deadline& deadline);

 private:
  using Bytes = std::vector<uint8_t>;

  void Append(Bytes message);
  void Write(const Deadline& deadline);
  /// The next message of this type, whole. Throws an error that comes before it.
  [[nodiscard]] Bytes Await(uint8_t type, const Deadline& deadline);
  void Answer(const Bytes& message, const Deadline& deadline);
  [[nodiscard]] Bytes Receive(const Deadline& deadline);
  void WaitFor(short events, const Deadline& deadline) const;

  const std::string what_;
  UniqueFd socket_;
  uint32_t next_id_ = 0;
  uint32_t first_id_ = 0;  ///< of the caller's messages
  bool is_greeted_ = false;
  Bytes out_;
  Bytes in_;
};

}  // namespace kuryr::binding
