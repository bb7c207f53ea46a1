#include "binding/ovs/switch_restarts.h"

#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/socket_watch.h"

namespace kuryr::binding {

bool SwitchRestarts::Next(const Deadline& deadline) {
  const bool is_restart = seen_ != nullptr;
  if (is_restart) seen_->WaitUntilClosed(deadline);
  SocketWatch watch("ovs-vswitchd");
  const std::string folder = OpenFlow::FolderOf(ovsdb_connection_);
  do {
    watch.Begin(std::make_shared<FolderWatch>(folder));
    try {
      seen_ = std::make_unique<OpenFlow>(ovsdb_connection_, bridge_, deadline);
      return is_restart;
    } catch (const std::system_error& e) {
      const int why = e.code().value();
      if (why != ENOENT && why != ECONNREFUSED && why != ECONNRESET) throw;
    }
  } while (watch.Wait(deadline));
  ThrowErrno(ETIMEDOUT, "wait for ovs-vswitchd");
}

}  // namespace kuryr::binding
