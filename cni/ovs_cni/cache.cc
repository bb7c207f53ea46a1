#include "cni/ovs_cni/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/ownership.h"
#include "base/unique_fd.h"
#include "cni/protocol/ovs_cni_config.h"

namespace kuryr::cni {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void Tell(const char* what, const std::exception& e) {
  Log(LogLevel::kWarning, what, {{"error", e.what()}});
}

void MakeFolder(const fs::path& folder) {
  constexpr mode_t kOwnerAlone = 0700;
  if (::mkdir(folder.c_str(), kOwnerAlone) != 0 && errno != EEXIST)
    ThrowErrno("make folder " + folder.string());
  RequireOwnFolder(folder);
}

void WriteFile(const fs::path& path, const std::string& text) {
  constexpr mode_t kOwnerAlone = 0600;
  const UniqueFd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kOwnerAlone));
  if (!fd) ThrowErrno("open " + path.string());
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    ThrowErrno("write " + path.string());
}

}  // namespace

std::optional<OvsCniCache::Entry> OvsCniCache::Find(const std::string& container_id,
                                                    const std::string& ifname) const noexcept {
  if (folder_.empty()) return std::nullopt;
  try {
    const fs::path path = PathOf(container_id, ifname);
    const auto text = ReadFile(path, FileOwner::kRootAlone);
    if (!text) return std::nullopt;
    const json entry = ParseJson(*text);
    const json config = entry.value("Netconf", json::object());
    if (!config.is_object()) throw ParseError("$.Netconf", "is no object");
    return Entry{.ovsdb_connection = TakeOvsdbConnection(config),
                 .device = StringAt(config, "deviceID"),
                 .link = StringAt(entry, "OrigIfName")};
  } catch (const std::exception& e) {
    Tell("what ovs-cni kept of the attachment is passed over", e);
    return std::nullopt;
  }
}

void OvsCniCache::Write(const std::string& container_id, const std::string& ifname,
                        const json& config, const std::string& link) const noexcept {
  if (folder_.empty()) return;
  try {
    const fs::path path = PathOf(container_id, ifname);
    MakeFolder(folder_);
    const json entry = {{"Netconf", config}, {"OrigIfName", link}, {"UserspaceMode", false}};
    WriteFile(path, entry.dump(-1, ' ', false, json::error_handler_t::replace));
  } catch (const std::exception& e) {
    Tell("ovs-cni would not find the attachment", e);
  }
}

void OvsCniCache::Remove(const std::string& container_id,
                         const std::string& ifname) const noexcept {
  if (folder_.empty()) return;
  try {
    const fs::path path = PathOf(container_id, ifname);
    if (!fs::exists(fs::symlink_status(folder_))) return;
    RequireOwnFolder(folder_);
    fs::remove(path);
  } catch (const std::exception& e) {
    Tell("what was kept for ovs-cni stays", e);
  }
}

}  // namespace kuryr::cni
