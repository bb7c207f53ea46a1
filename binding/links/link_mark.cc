#include "binding/links/link_mark.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"

namespace kuryr::binding {
namespace {

constexpr const char* kTag = "kuryr-cni";
constexpr const char* kAbsent = "-";
constexpr size_t kMaxAlias = 255;  // IFALIASZ, less the zero byte

bool IsWord(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

std::optional<LinkMark> LinkMark::Parse(const std::string& alias) {
  std::istringstream words(alias);
  std::string tag;
  LinkMark mark;
  Attachment& whose = mark.attachment;
  words >> tag >> whose.network >> whose.container_id >> whose.ifname >> whose.pod_uid;
  if (!words || tag != kTag) return std::nullopt;
  words >> whose.pod;
  // Names of pods have none.
  if (whose.pod.find('=') != std::string::npos) {
    mark.note = std::exchange(whose.pod, "");
    words >> whose.pod;
  }
  for (std::string* word : {&whose.network, &whose.container_id, &whose.ifname, &whose.pod_uid}) {
    if (*word == kAbsent) word->clear();
  }
  return mark;
}

std::string LinkMark::ToString() const {
  std::string text = kTag;
  for (const std::string* word :
       {&attachment.network, &attachment.container_id, &attachment.ifname, &attachment.pod_uid}) {
    if (!IsWord(*word)) ThrowErrno(EINVAL, "mark an interface with " + Printable(*word));
    text += " " + (word->empty() ? kAbsent : *word);
  }
  if (!note.empty()) text += " " + note;
  if (text.size() > kMaxAlias) ThrowErrno(EINVAL, "mark an interface with " + Printable(text, 500));
  text += " " + attachment.pod;
  return text.substr(0, kMaxAlias);
}

uint32_t BirthGroup(const Attachment& attachment) {
  const auto& [network, container_id, ifname, pod, pod_uid, netns, netns_id] = attachment;
  const std::string whose = pod_uid.empty() ? network + " " + container_id + " " + ifname : pod_uid;
  const uint64_t hash = Hash(whose);
  const auto group = static_cast<uint32_t>(hash ^ (hash >> 32U)) & INT32_MAX;
  return group == 0 || group == kSharedBirthGroup ? 1 : group;
}

void ThrowInUse(const Link& link) {
  Log(LogLevel::kWarning, "host interface is another's",
      {{"interface", link.name}, {"kind", link.kind}, {"alias", link.alias}});
  const std::string what = "host interface " + link.name;
  if (LinkMark::Parse(link.alias)) throw HostInterfaceInUse(what + " belongs to another pod");
  throw HostInterfaceInUse(what + " was not made by kuryr-cni for this pod: if nobody needs it, " +
                           "\"ip link delete " + link.name + "\" frees the name");
}

}  // namespace kuryr::binding
