#include "binding/link_mark.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <utility>

#include "base/error.h"
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

bool LinkMark::IsOf(const Attachment& other) const {
  return attachment.network == other.network && attachment.container_id == other.container_id &&
         attachment.ifname == other.ifname;
}

bool IsMarkedBy(const Link& link, const Attachment& attachment) {
  const auto mark = LinkMark::Parse(link.alias);
  return mark && mark->IsOf(attachment);
}

bool IsMarkedByOlderSandbox(const Link& link, const Attachment& attachment) {
  const auto mark = LinkMark::Parse(link.alias);
  return mark && !attachment.pod_uid.empty() && mark->attachment.pod_uid == attachment.pod_uid &&
         mark->attachment.container_id != attachment.container_id;
}

void ThrowInUse(const Link& link) {
  Log(LogLevel::kWarning, "host interface is another's",
      {{"interface", link.name}, {"kind", link.kind}, {"alias", link.alias}});
  const bool is_pods = LinkMark::Parse(link.alias).has_value();
  throw HostInterfaceInUse("host interface " + link.name +
                           (is_pods ? " belongs to another pod" : " was not made by kuryr-cni"));
}

}  // namespace kuryr::binding
