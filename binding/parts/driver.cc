#include "binding/parts/driver.h"

#include <algorithm>

#include "base/rollback.h"
#include "binding/links/interfaces.h"
#include "binding/try_all.h"

namespace kuryr::binding {
namespace {

/// Removes what `owner` has of the plug, in the reverse order of Make. Tries all, and throws the
/// first failure.
void RemoveParts(PlugSite& site, const Parts& parts, const Attachment& owner) {
  TryAll steps;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    steps.Try([&] { (*part)->Remove(owner); });
  steps.Try([&] { site.RemoveLinks(); });
  steps.Finish();
}

/// Undoes the first `begun` parts. Failures are logged.
void UndoParts(PlugSite& site, const Parts& parts, size_t begun) noexcept {
  site.BeginUndo();
  const std::string& ifname = site.plug().ifname;
  while (begun-- > 0) TryUndo(ifname, [&] { parts[begun]->Undo(); });
  TryUndo(ifname, [&] { site.RemoveLinks(); });
}

}  // namespace

std::vector<Interface> Driver::Connect(const PlugRequest& request) {
  PlugSite site(context_, request, PlugSite::Patience::kOvsdb);
  const Parts parts = PartsOf(site);
  for (const auto& part : parts) part->Require();
  for (const auto& part : parts) part->Clear();
  for (const Attachment& owner : site.leftovers()) RemoveParts(site, parts, owner);

  size_t begun = 0;
  // A part is undone also when its Make failed: the answer may be lost.
  Rollback undo([&] { UndoParts(site, parts, begun); });
  for (const auto& part : parts) {
    ++begun;
    part->Make();
  }
  std::vector<Interface> interfaces;
  for (const auto& part : parts) {
    if (auto interface = part->Await()) interfaces.push_back(*std::move(interface));
  }
  undo.Dismiss();
  return interfaces;
}

Differences Driver::Check(const PlugRequest& request) const {
  PlugSite site(context_, request, PlugSite::Patience::kNone);
  Differences found;
  for (const auto& part : PartsOf(site)) {
    try {
      part->Check(found);
    } catch (const std::exception&) {
      // A difference that is known says more than a service that does not answer.
      if (found.empty()) throw;
      break;
    }
  }
  return found;
}

Differences Driver::Repair(const PlugRequest& request) {
  PlugSite site(context_, request, PlugSite::Patience::kNone);
  Differences all;
  TryAll steps;
  for (const auto& part : PartsOf(site)) {
    steps.Try([&] {
      Differences found;
      part->Check(found);
      all.insert(all.end(), found.begin(), found.end());
      const bool is_mendable =
          std::any_of(found.begin(), found.end(),
                      [](const Difference& difference) { return difference.live_safe; });
      if (!is_mendable) return;
      part->Make();
      (void)part->Await();
    });
  }
  steps.Finish();
  return all;
}

void Driver::Disconnect(const Plug& plug, const Attachment& attachment, const Deadline& deadline) {
  PlugSite site(context_, plug, attachment, deadline);
  RemoveParts(site, PartsOf(site), attachment);
}

}  // namespace kuryr::binding
