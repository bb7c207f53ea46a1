#include "ovsdb/server_outage.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "base/log.h"
#include "ovsdb/connections.h"

namespace kuryr {
namespace {

std::string TextOf(int error) { return std::generic_category().message(error); }

}  // namespace

ServerOutage::ServerOutage(const std::string& remote, int error, Deadline::Clock::duration patience,
                           OvsdbConnections* kept)
    : remote_(remote), kept_(kept), watch_("OVSDB at " + remote), end_(begin_ + patience) {
  Log(LogLevel::kInfo, "ovsdb-server does not answer: waiting for it",
      {{"remote", remote}, {"error", TextOf(error)}});
}

void ServerOutage::Begin() {
  watch_.Begin(kept_ != nullptr ? kept_->WatchFolder(remote_) : WatchFolderOf(remote_));
}

bool ServerOutage::Wait(const Deadline& deadline) {
  return watch_.Wait({.at = std::min(deadline.at, end_), .cancel_fd = deadline.cancel_fd});
}

std::string ServerOutage::Describe(int error) const {
  const auto waited =
      std::chrono::duration_cast<std::chrono::seconds>(Deadline::Clock::now() - begin_);
  return "Open vSwitch is down, or being restarted: waited " + std::to_string(waited.count()) +
         " s for ovsdb-server at " + remote_ + " (" + TextOf(error) + ")";
}

}  // namespace kuryr
