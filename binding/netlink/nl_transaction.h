#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "binding/netlink/nl_ptr.h"

namespace kuryr::binding {

/// The kernel's answer to one request (netlink(7): NLMSG_ERROR with its extended acknowledgement).
struct NlAnswer {
  int error = 0;            ///< errno, not NLE_*; 0 is success
  std::string explanation;  ///< the kernel's own words (NLMSGERR_ATTR_MSG); often empty
  NlMsgPtr object;          ///< the object that a get request found
};

/// An open, connected socket of the calling thread's namespace; `protocol` is NETLINK_ROUTE,
/// NETLINK_NETFILTER, NETLINK_SOCK_DIAG or NETLINK_GENERIC (netlink(7)). It takes nothing from
/// other processes, and no wait for the kernel is endless.
[[nodiscard]] NlSocketPtr OpenNlSocket(int protocol);

/// Sends `request` and reads up to its acknowledgement. Throws std::system_error, its text
/// beginning with `what`, when the socket fails; what the kernel refuses is in the answer.
[[nodiscard]] NlAnswer Transact(nl_sock& socket, nl_msg& request, const std::string& what);

/// Sends a request with NLM_F_DUMP, and hands every object of the answer to `take`. What
/// changes meanwhile may be missed, or be there twice (NLM_F_DUMP_INTR). Throws std::system_error.
void Dump(nl_sock& socket, nl_msg& request, const std::string& what,
          const std::function<void(nlmsghdr&)>& take);

/// Sends netfilter messages, the first and last of which are NFNL_MSG_BATCH_BEGIN and _END, in one
/// piece, and reads up to the first refusal or the acknowledgement of all. For a socket of such
/// batches alone.
[[nodiscard]] NlAnswer TransactBatch(nl_sock& socket, std::span<const NlMsgPtr> batch,
                                     const std::string& what);

/// Throws std::system_error for an answer that is an error: "WHAT (EXPLANATION): errno's text".
void CheckAnswer(const NlAnswer& answer, const std::string& what);

/// The object that a get request found. Throws std::system_error where the answer is an error, or
/// has none.
[[nodiscard]] nl_msg& ObjectOf(const NlAnswer& answer, const std::string& what);

}  // namespace kuryr::binding
