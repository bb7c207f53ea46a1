#include "cni/agent/capabilities.h"

#include <cap-ng.h>
#include <sys/prctl.h>

#include <array>

#include "base/error.h"

namespace kuryr::cni {
namespace {

/// As in etc/kuryr-daemon.service and etc/kubernetes/.
constexpr std::array<unsigned, 4> kNeeded = {
    CAP_NET_ADMIN,     // links, addresses, routes
    CAP_SYS_ADMIN,     // setns(2) into pods' namespaces
    CAP_SYS_PTRACE,    // in which user namespace a caller is: /proc/PID/ns/user
    CAP_DAC_OVERRIDE,  // sockets and folders of an Open vSwitch that runs as a user of its own
};

}  // namespace

void KeepNeededCapabilities() {
  constexpr auto kSets =
      static_cast<capng_type_t>(CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) ThrowErrno("set no_new_privs");
  if (::capng_get_caps_process() != 0) ThrowErrno("ask for this process's capabilities");
  // Without CAP_SETPCAP this process cannot lower the bounding set. What took that capability away
  // (systemd, a container runtime) usually lowers the set as well.
  const bool may_bound = ::capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) != 0;
  std::array<bool, kNeeded.size()> had{};
  for (size_t i = 0; i < kNeeded.size(); ++i)
    had.at(i) = ::capng_have_capability(CAPNG_PERMITTED, kNeeded.at(i)) != 0;
  ::capng_clear(CAPNG_SELECT_BOTH);
  for (size_t i = 0; i < kNeeded.size(); ++i) {
    if (had.at(i)) (void)::capng_update(CAPNG_ADD, kSets, kNeeded.at(i));
  }
  if (::capng_apply(may_bound ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) != 0)
    ThrowErrno("give up capabilities");
}

bool MayConfigureNetworks() {
  return ::capng_get_caps_process() == 0 &&
         ::capng_have_capability(CAPNG_EFFECTIVE, CAP_NET_ADMIN) != 0;
}

}  // namespace kuryr::cni
