#include "binding/devices/lent_vf.h"

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/log.h"
#include "binding/links/interfaces.h"
#include "binding/links/link_mark.h"
#include "binding/links/owner.h"
#include "binding/try_all.h"

namespace kuryr::binding {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNote = "vf=";
constexpr const char* kSysfs = "/sys";  // the kernel's own

/// Where the kernel names no device of a link, hardware is known by having no kind. A link with a
/// kind was made by a pod, whatever its mark says. With a made-up sysfs, veths stand in for VFs.
bool CanBeVf(const fs::path& sysfs, const Link& link, const vif::PciAddress& address) {
  if (!link.parent_device.empty()) return link.parent_device == address.ToString();
  return link.kind.empty() || (link.kind == "veth" && sysfs != kSysfs);
}

/// Other refusals of the kernel, such as a name that is taken, would come again in every DEL.
bool IsWorthAnotherTry(const std::system_error& error) {
  return error.code() == std::errc::not_enough_memory || error.code() == std::errc::no_buffer_space;
}

/// One VF's way back to the host.
class GivingBack {
 public:
  GivingBack(const BindingConfig& config, const Vf& vf, const Attachment& attachment)
      : sysfs_(config.sysfs),
        vf_(vf),
        attachment_(attachment),
        store_(config.vf_folder),
        lock_(store_.Lock(vf.address)),
        kept_(store_.Find(vf.address)) {}

  /// `name` is for a VF of which the store knows nothing; empty: as it is.
  void Run(const Netns* pod, const std::string& name) {
    if (kept_ && OwnerOf(kept_->owner, attachment_) != Owner::kOwn) return;
    TryAll steps;
    steps.Try([&] {
      if (pod != nullptr) TakeFrom(*pod);
    });
    steps.Try([&] {
      const auto link = FindReturned();
      if (!link) return;
      if (!IsVf(*link))
        ThrowErrno(ENODEV,
                   "give back " + vf_.ToString() + ": " + link->name + " is another device");
      Restore(*link, kept_ ? kept_->link : name);
    });
    steps.Finish();
  }

 private:
  /// For a link on the host, of which sysfs knows the device.
  [[nodiscard]] bool IsVf(const Link& link) const {
    if (!CanBeVf(sysfs_, link, vf_.address)) return false;
    if (!link.parent_device.empty()) return true;
    // It may have been in the pod when vf_ was looked for.
    const auto vf = FindVf(sysfs_, vf_.address);
    if (!vf) return false;
    // A made-up sysfs has the name from before the pod.
    return vf->link == link.name ||
           (link.kind == "veth" && kept_ && vf->link == kept_->link && link.index == kept_->index);
  }

  /// For a link in the pod, which may have changed every mark but the kernel's own name.
  [[nodiscard]] bool MayBeVf(const Link& link) const {
    if (!CanBeVf(sysfs_, link, vf_.address)) return false;
    if (!link.parent_device.empty()) return true;
    return OwnerOf(link, attachment_) == Owner::kOwn && NotedVf(link) == vf_.address;
  }

  void TakeFrom(const Netns& pod) {
    TryAll steps;
    bool is_taken = false;
    RouteSocket inside = RouteSocket::OpenIn(pod);
    for (const std::string& name : LinkNamesIn(pod)) {
      const auto link = inside.FindLink(name);
      if (!link || !MayBeVf(*link)) continue;
      // The kernel would move it first, and then find the name taken.
      const auto other = host_.FindLink(NameOnTheWay(vf_.address));
      if (other && IsVf(*other)) break;  // a Disconnect was killed here
      if (other) ThrowErrno(EEXIST, "take " + name + " from the pod as " + other->name);
      steps.Try([&] { is_taken = Take(pod, *link); });
      if (is_taken) break;
    }
    steps.Finish();
  }

  /// True when it was the VF. Otherwise it goes back into the pod: on the host nothing may keep a
  /// name of the pod's choice, or be in the VF's way.
  bool Take(const Netns& pod, const Link& link) {
    const std::string name = NameOnTheWay(vf_.address);
    const Netns here = Netns::Current();
    RouteSocket::OpenIn(pod).ChangeLink(link, {.netns_fd = here.fd(), .name = name});
    const Link moved = Find(host_, name);
    if (IsVf(moved)) return true;
    host_.ChangeLink(moved, {.netns_fd = pod.fd(), .name = link.name});
    Log(LogLevel::kWarning, "link in a pod bears a virtual function's mark, but is another device",
        {{"interface", link.name}, {"device", vf_.address.ToString()}});
    return false;
  }

  /// The kernel gives a VF back under its pod's name, or another one.
  std::optional<Link> FindReturned() {
    for (const std::string& name : {NameOnTheWay(vf_.address), vf_.link}) {
      auto link = name.empty() ? std::nullopt : host_.FindLink(name);
      if (link && ((kept_ && IsVf(*link)) || OwnerOf(*link, attachment_) == Owner::kOwn))
        return link;
    }
    return std::nullopt;
  }

  /// Mark and file go last, also where the kernel refuses to restore the VF. The next Connect sets
  /// all of it anew.
  void Restore(const Link& link, const std::string& name) {
    TryAll steps;
    if (link.up) host_.ChangeLink(link, {.up = false});
    steps.Try([&] {
      if (!name.empty()) host_.ChangeLink(link, {.name = name});
    });
    if (kept_) {
      steps.Try([&] {
        if (kept_->settings) SetVf(host_, vf_, *kept_->settings);
      });
      steps.Try([&] { host_.ChangeLink(link, {.mac = kept_->mac, .mtu = kept_->mtu}); });
    }
    try {
      steps.Finish();
    } catch (const std::system_error& e) {
      if (IsWorthAnotherTry(e)) throw;
    }
    steps.Try([&] { host_.ChangeLink(link, {.alias = ""}); });
    steps.Try([&] { store_.Remove(vf_.address); });
    steps.Finish();
  }

  const fs::path& sysfs_;
  const Vf& vf_;
  const Attachment& attachment_;
  const LentVfStore store_;
  const UniqueFd lock_;
  const std::optional<LentVf> kept_;
  RouteSocket host_;
};

}  // namespace

std::string NoteOf(const vif::PciAddress& address) {
  return std::string(kNote) + address.ToString();
}

std::optional<vif::PciAddress> NotedVf(const Link& link) {
  const auto mark = LinkMark::Parse(link.alias);
  if (!mark || !mark->note.starts_with(kNote)) return std::nullopt;
  // Earlier versions wrote more behind a comma.
  const std::string_view note = mark->note;
  return vif::PciAddress::Parse(note.substr(kNote.size(), note.find(',') - kNote.size()));
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

Link FindIdleLink(RouteSocket& host, const BindingConfig& config, const Vf& vf) {
  const auto link = vf.link.empty() ? std::nullopt : host.FindLink(vf.link);
  if (!link) ThrowNotOnHost(vf);
  const std::string what = vf.ToString() + " is in use on the host: " + link->name;
  if (link->master != 0) {
    const auto master = host.FindLink(link->master);
    throw HostInterfaceInUse(what + " is a port of " + (master ? master->name : "another"));
  }
  // It has a macvlan's or VLAN's packets, but none of its addresses.
  if (const std::string upper = FindUpper(config.sysfs, vf); !upper.empty())
    throw HostInterfaceInUse(what + " carries " + Printable(upper));
  if (HasGlobalAddress(host, *link)) throw HostInterfaceInUse(what + " has an address");
  const bool foreign = LinkMark::Parse(link->alias).has_value() && !NotedVf(*link) &&
                       !LentVfStore(config.vf_folder).Find(vf.address);
  if (foreign || !CanBeVf(config.sysfs, *link, vf.address)) ThrowInUse(*link);
  return *link;
}

void LendVf(RouteSocket& host, const BindingConfig& config, const Vf& vf,
            const std::optional<VfSettings>& settings, const PlugRequest& request) {
  const LentVfStore store(config.vf_folder);
  const UniqueFd lock = store.Lock(vf.address);
  // Another pod may have got it since it was looked at.
  const Link link = FindIdleLink(host, config, vf);
  // For a VF that is back from a pod: its state before that pod.
  LentVf lent = store.Find(vf.address)
                    .value_or(LentVf{.address = vf.address,
                                     .link = link.name,
                                     .mac = link.mac,
                                     .mtu = link.mtu,
                                     .settings = settings});
  lent.owner = request.attachment;
  lent.index = link.index;
  store.Write(lent);
  const LinkMark mark{.attachment = request.attachment, .note = NoteOf(vf.address)};
  host.ChangeLink(
      link,
      {.netns_fd = request.pod.fd(), .name = NameOnTheWay(vf.address), .alias = mark.ToString()});
}

void GiveBackVf(const BindingConfig& config, const Plug& plug, const Attachment& attachment,
                const Netns* pod) {
  const auto address = vif::PciAddress::Parse(plug.device);
  const auto vf = address ? FindVf(config.sysfs, *address) : std::nullopt;
  if (vf) GivingBack(config, *vf, attachment).Run(pod, plug.host_interface);
}

std::vector<Plug> FindLentVfs(const BindingConfig& config, const Attachment& attachment) {
  std::vector<Link> links = FindMarkedLinks(attachment);
  const auto returned = FindMarkedLinksIn(Netns::Current(), attachment);
  links.insert(links.end(), returned.begin(), returned.end());
  std::vector<Plug> found;
  for (const Link& link : links) {
    const auto address = NotedVf(link);
    if (!address || !CanBeVf(config.sysfs, link, *address)) continue;
    const auto lent = LentVfStore(config.vf_folder).Find(*address);
    const bool is_own = lent && OwnerOf(lent->owner, attachment) == Owner::kOwn;
    found.push_back({.ifname = link.name,
                     .host_interface = is_own ? lent->link : "",
                     .device = address->ToString()});
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
