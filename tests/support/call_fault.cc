#include "tests/support/call_fault.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>

#include "base/error.h"

namespace kuryr::test {
namespace {

thread_local CallFault* armed = nullptr;

/// The next function of this name: libc's, or the sanitizer's in front of it.
template <typename Function>
Function* Next(const char* name) {
  void* const next = ::dlsym(RTLD_NEXT, name);
  if (next == nullptr) std::abort();
  return reinterpret_cast<Function*>(next);
}

bool IsNetlink(int fd) {
  int domain = 0;
  socklen_t length = sizeof domain;
  return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_NETLINK;
}

/// Whether the call must fail; then errno is set. Otherwise errno stays as it is.
bool Fails(const std::string& call, int error) {
  if (armed == nullptr || !armed->IsNext(call)) return false;
  errno = error;
  return true;
}

template <typename Send>
ssize_t Request(int fd, const std::string& call, const Send& send) {
  if (armed == nullptr) return send();
  const bool netlink = IsNetlink(fd);
  if (Fails(call + (netlink ? " to the kernel" : " to OVSDB"), netlink ? ENOBUFS : EPIPE))
    return -1;
  const ssize_t sent = send();
  if (sent > 0 && armed != nullptr) armed->NoteRequest(fd);
  return sent;
}

template <typename Receive>
ssize_t Answer(int fd, const std::string& call, const Receive& receive) {
  if (armed == nullptr) return receive();
  if (IsNetlink(fd)) {
    // The answer stays unread in the socket, and comes late: worse than a lost one.
    if (!armed->LosesAnswerOf(fd, call + " from the kernel")) return receive();
    errno = ENOBUFS;
    return -1;
  }
  const std::string what = call + " from OVSDB";
  if (Fails(what, ECONNRESET)) return -1;
  const ssize_t received = receive();
  if (received <= 0 || !armed->LosesAnswerOf(fd, what)) return received;
  errno = ECONNRESET;
  return -1;
}

/// Whether FakePci acts when the file is opened: failing the write would come too late.
bool IsTrigger(const std::string& path) {
  return path.ends_with("/bind") || path.ends_with("/unbind") || path.ends_with("/drivers_probe");
}

int Noted(int fd, const char* path) {
  if (armed != nullptr && !IsTrigger(path)) armed->NoteFile(fd);
  return fd;
}

}  // namespace

CallFault::CallFault(Kind kind, int number) : kind_(kind), left_(number) {
  struct stat status{};
  if (::stat("/proc/thread-self/ns/net", &status) != 0) ThrowErrno("stat the thread's namespace");
  home_ = status.st_ino;
  armed = this;
}

CallFault::~CallFault() { armed = nullptr; }

bool CallFault::IsNext(const std::string& call) {
  if (kind_ == Kind::kAnswerLost || --left_ != 0) return false;
  if (kind_ == Kind::kKilled) (void)::raise(SIGKILL);
  failed_ = call;
  return true;
}

void CallFault::NoteRequest(int fd) {
  if (kind_ == Kind::kAnswerLost && --left_ == 0) request_fd_ = fd;
}

bool CallFault::LosesAnswerOf(int fd, const std::string& call) {
  if (fd != request_fd_) return false;
  request_fd_ = -1;
  failed_ = call;
  return true;
}

bool CallFault::IsHome(int netns_fd) const {
  struct stat status{};
  return ::fstat(netns_fd, &status) == 0 && status.st_ino == home_;
}

}  // namespace kuryr::test

using kuryr::test::Answer;
using kuryr::test::armed;
using kuryr::test::Fails;
using kuryr::test::IsNetlink;
using kuryr::test::Next;
using kuryr::test::Noted;
using kuryr::test::Request;

extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  static auto* const next = Next<int(int, int, int)>("socket");
  return Fails("socket", EMFILE) ? -1 : next(domain, type, protocol);
}

int bind(int fd, const sockaddr* address, socklen_t length) noexcept {
  static auto* const next = Next<int(int, const sockaddr*, socklen_t)>("bind");
  return Fails("bind", ENOMEM) ? -1 : next(fd, address, length);
}

int connect(int fd, const sockaddr* address, socklen_t length) {
  static auto* const next = Next<int(int, const sockaddr*, socklen_t)>("connect");
  return Fails("connect", ECONNREFUSED) ? -1 : next(fd, address, length);
}

int getsockname(int fd, sockaddr* address, socklen_t* length) noexcept {
  static auto* const next = Next<int(int, sockaddr*, socklen_t*)>("getsockname");
  return Fails("getsockname", ENOBUFS) ? -1 : next(fd, address, length);
}

int setsockopt(int fd, int level, int option, const void* value, socklen_t length) noexcept {
  static auto* const next = Next<int(int, int, int, const void*, socklen_t)>("setsockopt");
  return Fails("setsockopt", ENOMEM) ? -1 : next(fd, level, option, value, length);
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static auto* const next = Next<ssize_t(int, const msghdr*, int)>("sendmsg");
  return Request(fd, "sendmsg", [&] { return next(fd, message, flags); });
}

ssize_t send(int fd, const void* data, size_t size, int flags) {
  static auto* const next = Next<ssize_t(int, const void*, size_t, int)>("send");
  return Request(fd, "send", [&] { return next(fd, data, size, flags); });
}

ssize_t recv(int fd, void* data, size_t size, int flags) {
  static auto* const next = Next<ssize_t(int, void*, size_t, int)>("recv");
  return Answer(fd, "recv", [&] { return next(fd, data, size, flags); });
}

ssize_t recvfrom(int fd, void* data, size_t size, int flags, sockaddr* sender, socklen_t* length) {
  static auto* const next =
      Next<ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)>("recvfrom");
  return Answer(fd, "recvfrom", [&] { return next(fd, data, size, flags, sender, length); });
}

int setns(int fd, int kind) noexcept {
  static auto* const next = Next<int(int, int)>("setns");
  const bool entering = armed != nullptr && !armed->IsHome(fd);
  return entering && Fails("setns", ENOMEM) ? -1 : next(fd, kind);
}

// NOLINTNEXTLINE(cert-dcl50-cpp): as libc has it
int open(const char* path, int flags, ...) {
  static auto* const next = Next<int(const char*, int, ...)>("open");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (Fails(std::string("open ") + path, EMFILE)) return -1;
  return Noted(next(path, flags, mode), path);
}

// NOLINTNEXTLINE(cert-dcl50-cpp): as libc has it
int openat(int folder, const char* path, int flags, ...) {
  static auto* const next = Next<int(int, const char*, int, ...)>("openat");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (Fails(std::string("openat ") + path, EMFILE)) return -1;
  const int fd = next(folder, path, flags, mode);
  return (flags & O_DIRECTORY) != 0 ? fd : Noted(fd, path);
}

int close(int fd) {
  static auto* const next = Next<int(int)>("close");
  if (armed != nullptr && armed->IsFile(fd)) armed->NoteFile(-1);
  return next(fd);
}

ssize_t read(int fd, void* data, size_t size) {
  static auto* const next = Next<ssize_t(int, void*, size_t)>("read");
  const bool noted = armed != nullptr && armed->IsFile(fd);
  return noted && Fails("read a file", EIO) ? -1 : next(fd, data, size);
}

ssize_t write(int fd, const void* data, size_t size) {
  static auto* const next = Next<ssize_t(int, const void*, size_t)>("write");
  const bool noted = armed != nullptr && armed->IsFile(fd);
  return noted && Fails("write a file", EIO) ? -1 : next(fd, data, size);
}

int fchmod(int fd, mode_t mode) noexcept {
  static auto* const next = Next<int(int, mode_t)>("fchmod");
  return Fails("fchmod", EIO) ? -1 : next(fd, mode);
}

ssize_t readlink(const char* path, char* data, size_t size) noexcept {
  static auto* const next = Next<ssize_t(const char*, char*, size_t)>("readlink");
  return Fails(std::string("readlink ") + path, ENOMEM) ? -1 : next(path, data, size);
}

int fstatat(int folder, const char* path, struct stat* status, int flags) noexcept {
  static auto* const next = Next<int(int, const char*, struct stat*, int)>("fstatat");
  return Fails(std::string("fstatat ") + path, ENOMEM) ? -1 : next(folder, path, status, flags);
}

int renameat(int from, const char* old_name, int to, const char* new_name) noexcept {
  static auto* const next = Next<int(int, const char*, int, const char*)>("renameat");
  return Fails(std::string("renameat ") + old_name, EIO) ? -1 : next(from, old_name, to, new_name);
}

int renameat2(int from, const char* old_name, int to, const char* new_name,
              unsigned flags) noexcept {
  static auto* const next = Next<int(int, const char*, int, const char*, unsigned)>("renameat2");
  if (Fails(std::string("renameat2 ") + old_name, EIO)) return -1;
  return next(from, old_name, to, new_name, flags);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  static auto* const next = Next<int(int, const char*, int)>("unlinkat");
  return Fails(std::string("unlinkat ") + path, EIO) ? -1 : next(folder, path, flags);
}

struct if_nameindex* if_nameindex() noexcept {
  static auto* const next = Next<struct if_nameindex*()>("if_nameindex");
  return Fails("if_nameindex", ENOBUFS) ? nullptr : next();
}

}  // extern "C"
