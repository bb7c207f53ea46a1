#pragma once

#include <functional>
#include <string>

#include "binding/netlink/nl_ptr.h"

namespace kuryr::binding {

/// The kernel's answer to one request (netlink(7): NLMSG_ERROR with its extended acknowledgement).
struct NlAnswer {
  int error = 0;            ///< errno, not NLE_*; 0 is success
  std::string explanation;  ///< the kernel's own words (NLMSGERR_ATTR_MSG); often empty
  NlMsgPtr object;          ///< what a get request found
};

/// An open, connected NETLINK_ROUTE socket of the calling thread's namespace.
[[nodiscard]] NlSocketPtr OpenRouteSocket();

/// Sends `request` and reads up to its acknowledgement. Throws std::system_error, its text
/// beginning with `what`, when the socket fails; what the kernel refuses is in the answer.
[[nodiscard]] NlAnswer Transact(nl_sock& socket, nl_msg& request, const std::string& what);

/// Sends `request`, which has NLM_F_DUMP, and hands every object of the answer to `take`. What
/// changes meanwhile may be missed, or be there twice (NLM_F_DUMP_INTR). Throws std::system_error.
void Dump(nl_sock& socket, nl_msg& request, const std::string& what,
          const std::function<void(nlmsghdr&)>& take);

/// Throws std::system_error for an answer that is an error: "WHAT (EXPLANATION): errno's text".
void CheckAnswer(const NlAnswer& answer, const std::string& what);

}  // namespace kuryr::binding
