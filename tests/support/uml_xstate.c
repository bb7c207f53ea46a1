/* Preloaded into linux.uml by tests/kernel. Linux sets a traced process's vector registers only
 * from a buffer for all that the processor has. user-mode-linux 6.1 has 2,696 bytes, which ends
 * before those of AMX; its processes never use them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef long Ptrace(int request, pid_t pid, void* address, void* data);

long ptrace(enum __ptrace_request request, ...) {
  static Ptrace* next;
  /* The kernel takes as much of it as there is. */
  static char whole[1 << 16] __attribute__((aligned(64)));
  if (next == NULL) next = (Ptrace*)dlsym(RTLD_NEXT, "ptrace");
  va_list rest;
  va_start(rest, request);
  const pid_t pid = va_arg(rest, pid_t);
  void* address = va_arg(rest, void*);
  void* data = va_arg(rest, void*);
  va_end(rest);
  struct iovec registers = {whole, sizeof whole};
  if (request == PTRACE_SETREGSET && address == (void*)NT_X86_XSTATE) {
    const struct iovec* given = data;
    memcpy(whole, given->iov_base, given->iov_len);
    data = &registers;
  }
  return next((int)request, pid, address, data);
}
