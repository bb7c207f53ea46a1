#include "cni/agent/system_calls.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/log.h"

namespace kuryr::cni {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArchitecture = 0;
#endif

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kHasLeakSanitizer = true;
#elif defined(__has_feature)
constexpr bool kHasLeakSanitizer = __has_feature(address_sanitizer);
#else
constexpr bool kHasLeakSanitizer = false;
#endif

constexpr auto kForbidden = std::to_array<uint32_t>({
    // mounts
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_move_mount,
    SYS_open_tree,
    SYS_mount_setattr,
    SYS_open_by_handle_at,
    SYS_mknodat,
    // programs, other processes, namespaces of its own
    SYS_execve,
    SYS_execveat,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_pidfd_getfd,
    SYS_unshare,
    // the kernel itself
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_syslog,
    SYS_acct,
    SYS_swapon,
    SYS_swapoff,
    SYS_quotactl,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    // the node's name and clock
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
});

constexpr unsigned kOtherNamespaces = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC |
                                      CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET;
constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;

/// The numbers of system calls that are not the architecture's own begin here (x32).
constexpr uint32_t kForeignCalls = 0x40000000;

/// A program of classic BPF (seccomp(2)) that begins with the call's number at hand.
class Filter {
 public:
  Filter() {
    Load(offsetof(seccomp_data, arch));
    // Skips the refusal.
    Add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
    End(kRefuse);
    Load(offsetof(seccomp_data, nr));
    Add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kForeignCalls, 0, 1));
    End(kRefuse);
  }

  void Answer(uint32_t call, uint32_t answer) {
    Add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    End(answer);
  }
  /// Only with this value of the argument, an int.
  void Require(uint32_t call, size_t argument, uint32_t value) {
    Add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4));
    Load(OffsetOf(argument));
    Add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
    End(kRefuse);
    End(SECCOMP_RET_ALLOW);
  }
  /// Not with any of these bits in the argument.
  void Forbid(uint32_t call, size_t argument, uint32_t bits) {
    Add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4));
    Load(OffsetOf(argument));
    Add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
    End(kRefuse);
    End(SECCOMP_RET_ALLOW);
  }
  void End(uint32_t answer) { Add(BPF_STMT(BPF_RET | BPF_K, answer)); }

  [[nodiscard]] sock_fprog program() {
    return {.len = static_cast<uint16_t>(steps_.size()), .filter = steps_.data()};
  }

 private:
  void Add(const sock_filter& step) { steps_.push_back(step); }
  void Load(size_t offset) {
    Add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)));
  }
  /// The offset of the lower half, on a little-endian machine.
  static size_t OffsetOf(size_t argument) {
    return offsetof(seccomp_data, args) + argument * sizeof(uint64_t);
  }

  std::vector<sock_filter> steps_;
};

Filter MakeFilter() {
  Filter filter;
  for (const uint32_t call : kForbidden) filter.Answer(call, kRefuse);
  if (!kHasLeakSanitizer) filter.Answer(SYS_ptrace, kRefuse);
  // Its flags are where no filter sees them. glibc takes clone(2) then.
  filter.Answer(SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
  filter.Forbid(SYS_clone, 0, kOtherNamespaces);
  filter.Require(SYS_setns, 1, CLONE_NEWNET);
  filter.End(SECCOMP_RET_ALLOW);
  return filter;
}

}  // namespace

void GiveUpSystemCalls() {
  if (kArchitecture == 0) return;
  Filter filter = MakeFilter();
  const sock_fprog program = filter.program();
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0) return;
  if (errno != EINVAL) ThrowErrno("give up system calls");
  Log(LogLevel::kWarning, "the kernel has no seccomp: all system calls stay allowed", {});
}

}  // namespace kuryr::cni
