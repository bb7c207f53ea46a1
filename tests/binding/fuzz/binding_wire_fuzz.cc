// The bytes that a server of OVSDB sends.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "ovsdb/shim.h"

namespace {

using kuryr::UniqueFd;

void Require(bool fact) {
  if (!fact) std::abort();
}

/// Listens below the temporary folder as long as the program runs.
class Listener {
 public:
  Listener() {
    path_.copy(address_.sun_path, sizeof address_.sun_path - 1);
    ::unlink(path_.c_str());
    const auto* address = reinterpret_cast<const sockaddr*>(&address_);
    Require(socket_ && ::bind(socket_.get(), address, sizeof address_) == 0 &&
            ::listen(socket_.get(), 1) == 0);
  }
  ~Listener() { ::unlink(path_.c_str()); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] std::string remote() const { return "unix:" + path_; }
  [[nodiscard]] UniqueFd Accept() const {
    return UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }

 private:
  const std::string path_ = "/tmp/kuryr-wire-fuzz-" + std::to_string(::getpid());
  sockaddr_un address_{.sun_family = AF_UNIX, .sun_path = {}};
  UniqueFd socket_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

/// Requests are numbered from 0 on in a process.
int requests = 0;

/// "@" stands for the next request's number.
std::string WithNumbers(std::string_view text) {
  std::string all;
  for (const char c : text) {
    if (c == '@') {
      all += std::to_string(requests);
    } else {
      all += c;
    }
  }
  return all;
}

/// The deadline is over.
constexpr ovsdb_limit kNoWait{.deadline_ms = 0, .cancel_fd = -1};

void Ask(ovsdb_connection* connection) {
  char* text = nullptr;
  const int error = ovsdb_call(connection, "transact", "[\"Open_vSwitch\"]", kNoWait, &text);
  ++requests;
  Require((text != nullptr) == (error == 0 || error == EREMOTEIO));
  std::free(text);
}

void TakeNotifications(ovsdb_connection* connection) {
  constexpr int kMost = 64;
  for (int i = 0, error = 0; i < kMost && (error == 0 || error == ETIMEDOUT); ++i) {
    char* text = nullptr;
    error = ovsdb_next(connection, kNoWait, &text);
    Require((text != nullptr) == (error == 0));
    std::free(text);
  }
}

}  // namespace

/// The bits of the first byte say what is asked, and when; the rest is sent.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Listener listener;
  if (size == 0) return 0;
  ovsdb_connection* connection = nullptr;
  Require(ovsdb_open(listener.remote().c_str(), {.deadline_ms = INT64_MAX, .cancel_fd = -1},
                     &connection) == 0);
  UniqueFd theirs = listener.Accept();
  const std::string text = WithNumbers({reinterpret_cast<const char*>(data) + 1, size - 1});
  if (text.size() > 65536) {
    ovsdb_close(connection);
    return 0;
  }
  Require(::send(theirs.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(text.size()));
  if ((data[0] & 1U) != 0) theirs.reset();
  if ((data[0] & 2U) != 0) Ask(connection);
  if ((data[0] & 4U) != 0) TakeNotifications(connection);
  (void)ovsdb_refresh(connection);
  TakeNotifications(connection);
  ovsdb_close(connection);
  return 0;
}
