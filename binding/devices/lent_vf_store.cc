#include "binding/devices/lent_vf_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/names.h"
#include "base/ownership.h"

namespace kuryr::binding {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kLockFile = ".lock";

PodFolder MakeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);  // what it could not make, mkdir names
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    ThrowErrno("create folder " + path.string());
  RequireOwnFolder(path);
  return {path, "[cni_daemon] state_dir"};
}

MacAddress MacAt(const json& object) {
  const auto mac = MacAddress::Parse(object.at("mac").get<std::string>());
  if (!mac) throw ParseError("$.mac", "is no MAC address");
  return *mac;
}

json SettingsToJson(const std::optional<VfSettings>& settings) {
  if (!settings) return nullptr;
  return {{"mac", settings->mac->ToString()}, {"vlan", *settings->vlan}};
}

LentVf FromJson(const json& root) {
  LentVf lent;
  const auto address = vif::PciAddress::Parse(root.at("address").get<std::string>());
  if (!address) throw ParseError("$.address", "is no PCI address");
  lent.address = *address;
  lent.owner = {.network = root.at("network"),
                .container_id = root.at("container_id"),
                .ifname = root.at("ifname")};
  lent.link = root.at("link");
  if (!IsLinkName(lent.link)) throw ParseError("$.link", "is no name of a link");
  lent.index = root.at("index");
  lent.mac = MacAt(root);
  lent.mtu = root.at("mtu");
  const json& settings = root.at("settings");
  if (!settings.is_null())
    lent.settings = {.mac = MacAt(settings), .vlan = settings.at("vlan").get<uint16_t>()};
  return lent;
}

}  // namespace

std::string LentVf::ToJson() const {
  return json{{"address", address.ToString()},
              {"network", owner.network},
              {"container_id", owner.container_id},
              {"ifname", owner.ifname},
              {"link", link},
              {"index", index},
              {"mac", mac.ToString()},
              {"mtu", mtu},
              {"settings", SettingsToJson(settings)}}
      .dump();
}

LentVf LentVf::Parse(const std::string& text) {
  try {
    return FromJson(ParseJson(text));
  } catch (const json::exception& e) {
    throw ParseError("$", e.what());
  }
}

LentVfStore::LentVfStore(const fs::path& folder) : files_(MakeFolder(folder)) {}

UniqueFd LentVfStore::Lock(const vif::PciAddress& address) const {
  const fs::path path = files_.path() / kLockFile;
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) ThrowErrno("open " + path.string());
  // A byte for each: its routing ID, and the domain above it.
  const off_t byte = off_t{address.domain} << 16 | off_t{address.bus} << 8 |
                     off_t{address.slot} << 3 | off_t{address.function};
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
  while (::fcntl(fd.get(), F_OFD_SETLKW, &lock) != 0) {
    if (errno != EINTR) ThrowErrno("lock " + path.string());
  }
  return fd;
}

std::optional<LentVf> LentVfStore::Find(const vif::PciAddress& address) const {
  const auto text = files_.Read(address.ToString());
  if (!text) return std::nullopt;
  try {
    return LentVf::Parse(*text);
  } catch (const ParseError& e) {
    Log(LogLevel::kError, "what a virtual function was is unreadable",
        {{"file", (files_.path() / address.ToString()).string()}, {"error", e.what()}});
    return std::nullopt;
  }
}

void LentVfStore::Write(const LentVf& lent) const {
  files_.Write(lent.address.ToString(), lent.ToJson());
}

void LentVfStore::Remove(const vif::PciAddress& address) const {
  files_.Remove(address.ToString());
}

}  // namespace kuryr::binding
