#include "binding/devices/lent_vf.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/names.h"
#include "binding/interfaces.h"
#include "binding/link_mark.h"
#include "binding/steps.h"

namespace kuryr::binding {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNote = "vf=";
constexpr const char* kNone = "-";
constexpr const char* kSysfs = "/sys";  // the kernel's own

template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Where the kernel does not name a link's device, hardware is known by having no kind: any link
/// with one, whatever its mark says, was made by a pod. With a made-up sysfs, veths stand in for
/// VFs.
bool CanBeVf(const fs::path& sysfs, const Link& link, const vif::PciAddress& address) {
  if (!link.parent_device.empty()) return link.parent_device == address.ToString();
  return link.kind.empty() || (link.kind == "veth" && sysfs != kSysfs);
}

/// Of a link on the host, where sysfs says whose it is.
bool IsVf(const fs::path& sysfs, const Link& link, const LentVf& lent) {
  if (!CanBeVf(sysfs, link, lent.address)) return false;
  if (!link.parent_device.empty()) return true;
  const auto vf = FindVf(sysfs, lent.address);
  // A made-up sysfs has the name from before the pod.
  return vf && (vf->link == link.name || (link.kind == "veth" && vf->link == lent.link));
}

/// True when it was the VF. Otherwise it is in the pod again: on the host nothing may stay under a
/// name of the pod's choice, and nothing else may be in the VF's way.
bool Take(RouteSocket& host, const fs::path& sysfs, const Netns& pod, const Link& link,
          const LentVf& lent) {
  const std::string name = NameOnTheWay(lent.address);
  const Netns here = Netns::Current();
  RouteSocket::OpenIn(pod).ChangeLink(link, {.netns_fd = here.fd(), .name = name});
  const Link moved = Find(host, name);
  if (IsVf(sysfs, moved, lent)) return true;
  host.ChangeLink(moved, {.netns_fd = pod.fd(), .name = link.name});
  Log(LogLevel::kWarning, "link in a pod bears a virtual function's mark, but is another device",
      {{"interface", link.name}, {"device", lent.address.ToString()}});
  return false;
}

void TakeFrom(const Netns& pod, RouteSocket& host, const fs::path& sysfs,
              const vif::PciAddress& address, const Attachment& attachment) {
  Steps steps;
  bool is_taken = false;
  for (const Link& link : FindMarkedLinksIn(pod, attachment)) {
    const auto lent = LentVf::Of(link);
    if (!lent || lent->address != address || !CanBeVf(sysfs, link, address)) continue;
    // The kernel would move it first, and then find the name taken.
    const auto other = host.FindLink(NameOnTheWay(address));
    if (other && IsMarkedBy(*other, attachment)) break;  // a Disconnect was killed here
    if (other) ThrowErrno(EEXIST, "take " + link.name + " from the pod as " + other->name);
    steps.Try([&] { is_taken = Take(host, sysfs, pod, link, *lent); });
    if (is_taken) break;
  }
  steps.Finish();
}

/// The kernel gives a VF back under its pod's name, or another one.
std::optional<Link> FindReturned(RouteSocket& host, const Vf& vf, const Attachment& attachment) {
  for (const std::string& name : {NameOnTheWay(vf.address), vf.link}) {
    auto link = name.empty() ? std::nullopt : host.FindLink(name);
    if (link && IsMarkedBy(*link, attachment)) return link;
  }
  return std::nullopt;
}

/// What the kernel refused once (a name that is taken), it would refuse in every DEL.
bool IsWorthAnotherTry(const std::system_error& error) {
  return error.code() == std::errc::not_enough_memory || error.code() == std::errc::no_buffer_space;
}

/// The mark goes last, also from a VF that the kernel does not let be what it was: the next one who
/// takes it sets all of it anew.
void Restore(RouteSocket& host, const Vf& vf, const Link& link, const LentVf& lent) {
  Steps steps;
  if (link.up) host.ChangeLink(link, {.up = false});
  steps.Try([&] { host.ChangeLink(link, {.name = lent.link}); });
  steps.Try([&] {
    if (lent.settings) SetVf(host, vf, *lent.settings);
  });
  steps.Try([&] { host.ChangeLink(link, {.mac = lent.mac, .mtu = lent.mtu}); });
  try {
    steps.Finish();
  } catch (const std::system_error& e) {
    if (IsWorthAnotherTry(e)) throw;
  }
  steps.Try([&] { host.ChangeLink(link, {.alias = ""}); });
  steps.Finish();
}

}  // namespace

std::optional<LentVf> LentVf::Of(const Link& link) {
  const auto mark = LinkMark::Parse(link.alias);
  if (!mark || mark->note.rfind(kNote, 0) != 0) return std::nullopt;
  std::istringstream note(mark->note.substr(std::string_view(kNote).size()));
  std::array<std::string, 5> words;
  for (std::string& word : words) std::getline(note, word, ',');
  LentVf lent;
  std::getline(note, lent.link);
  const auto address = vif::PciAddress::Parse(words[0]);
  const auto mtu = ParseNumber<uint32_t>(words[1]);
  const auto mac = MacAddress::Parse(words[2]);
  if (!address || !mtu || !mac || !IsLinkName(lent.link)) return std::nullopt;
  lent.address = *address;
  lent.mtu = *mtu;
  lent.mac = *mac;
  if (words[3] == kNone) return lent;
  lent.settings = {.mac = MacAddress::Parse(words[3]), .vlan = ParseNumber<uint16_t>(words[4])};
  if (!lent.settings->mac || !lent.settings->vlan) return std::nullopt;
  return lent;
}

std::string LentVf::ToNote() const {
  const std::string of_pf = settings
                                ? settings->mac->ToString() + "," + std::to_string(*settings->vlan)
                                : std::string(kNone) + "," + kNone;
  return kNote + address.ToString() + "," + std::to_string(mtu) + "," + mac.ToString() + "," +
         of_pf + "," + link;
}

std::string NameOnTheWay(const vif::PciAddress& address) {
  std::string name = "vf-" + address.ToString();
  for (char& c : name) c = c == ':' || c == '.' ? '-' : c;
  return name;
}

void ThrowNotOnHost(const Vf& vf) {
  throw HostInterfaceInUse(vf.ToString() + " has no interface on the host: it is in another pod" +
                           (vf.driver.empty() ? ", or has no driver of the kernel"
                                              : ", or its driver " + Printable(vf.driver) +
                                                    " makes none (as vfio-pci)"));
}

Link FindIdleLink(RouteSocket& host, const fs::path& sysfs, const Vf& vf) {
  const auto link = vf.link.empty() ? std::nullopt : host.FindLink(vf.link);
  if (!link) ThrowNotOnHost(vf);
  const std::string what = vf.ToString() + " is in use on the host: " + link->name;
  if (link->master != 0) {
    const auto master = host.FindLink(link->master);
    throw HostInterfaceInUse(what + " is a port of " + (master ? master->name : "another"));
  }
  // It has a macvlan's or VLAN's packets, but none of its addresses.
  if (const std::string upper = FindUpper(sysfs, vf); !upper.empty())
    throw HostInterfaceInUse(what + " carries " + Printable(upper));
  if (HasGlobalAddress(host, *link)) throw HostInterfaceInUse(what + " has an address");
  const bool foreign = LinkMark::Parse(link->alias).has_value() && !LentVf::Of(*link);
  if (foreign || !CanBeVf(sysfs, *link, vf.address)) ThrowInUse(*link);
  return *link;
}

void LendVf(RouteSocket& host, const Vf& vf, const Link& link, const LentVf& lent,
            const PlugRequest& request) {
  // What it was before the pod that it is back from.
  const auto earlier = LentVf::Of(link);
  const LentVf& kept = earlier && earlier->address == vf.address ? *earlier : lent;
  const LinkMark mark{.attachment = request.attachment, .note = kept.ToNote()};
  host.ChangeLink(
      link,
      {.netns_fd = request.pod.fd(), .name = NameOnTheWay(vf.address), .alias = mark.ToString()});
}

void GiveBackVf(const fs::path& sysfs, const vif::PciAddress& address, const Attachment& attachment,
                const Netns* pod) {
  const auto vf = FindVf(sysfs, address);
  if (!vf) return;
  RouteSocket host;
  Steps steps;
  steps.Try([&] {
    if (pod != nullptr) TakeFrom(*pod, host, sysfs, address, attachment);
  });
  steps.Try([&] {
    const auto link = FindReturned(host, *vf, attachment);
    const auto lent = link ? LentVf::Of(*link) : std::nullopt;
    if (!lent || lent->address != address) return;
    if (!IsVf(sysfs, *link, *lent))
      ThrowErrno(ENODEV, "give back " + vf->ToString() + ": " + link->name + " is another device");
    Restore(host, *vf, *link, *lent);
  });
  steps.Finish();
}

std::vector<std::pair<Link, LentVf>> FindLentVfs(const fs::path& sysfs,
                                                 const Attachment& attachment) {
  std::vector<Link> links = FindMarkedLinks(attachment);
  const auto returned = FindMarkedLinksIn(Netns::Current(), attachment);
  links.insert(links.end(), returned.begin(), returned.end());
  std::vector<std::pair<Link, LentVf>> found;
  for (const Link& link : links) {
    const auto lent = LentVf::Of(link);
    if (lent && CanBeVf(sysfs, link, lent->address)) found.emplace_back(link, *lent);
  }
  return found;
}

Link FindPf(RouteSocket& host, const Vf& vf) {
  if (vf.pf.empty()) {
    ThrowErrno(ENODEV, "find the interface of " + vf.pf_address.ToString() +
                           ", the physical function of " + vf.ToString());
  }
  return Find(host, vf.pf);
}

VfSettings DifferenceOf(const std::optional<VfSettings>& now, const VfSettings& wanted,
                        const Vf& vf) {
  VfSettings change;
  if (now) {
    if (now->mac != wanted.mac) change.mac = wanted.mac;
    if (now->vlan != wanted.vlan) change.vlan = wanted.vlan;
  } else if (wanted.vlan != 0) {
    ThrowErrno(EOPNOTSUPP, "set VLAN " + std::to_string(*wanted.vlan) + " of " + vf.ToString() +
                               ": " + vf.pf + " has no settings for its virtual functions");
  }
  return change;
}

void SetVf(RouteSocket& host, const Vf& vf, const VfSettings& wanted) {
  const Link pf = FindPf(host, vf);
  const VfSettings change = DifferenceOf(host.FindVf(pf, vf.number), wanted, vf);
  if (change != VfSettings()) host.SetVf(pf, vf.number, change);
}

}  // namespace kuryr::binding
