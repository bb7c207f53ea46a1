#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "binding/difference.h"
#include "binding/parts/plug_site.h"
#include "binding/plan/attachment.h"

namespace kuryr::binding {

/// One thing of which a plug consists: a pair of links, a port, the pod's addresses. It knows how
/// to compare, make and remove itself. Driver has the loops that call parts, in the order in
/// which a driver lists them. Not thread-safe.
class Part {
 public:
  /// `site` outlives the part.
  explicit Part(PlugSite& site) : site_(site) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  /// Connect calls it first, for all parts. Throws for what the node or the pod refuses, and
  /// changes nothing.
  virtual void Require() {}
  /// Connect calls it next. Removes what an earlier Connect for this pod left, or notes its owner
  /// (PlugSite::NoteLeftover). Throws HostInterfaceInUse or InterfaceExists for another's thing.
  virtual void Clear() {}
  /// Adds what differs from the plan; nothing where all is as planned. Throws where it cannot say.
  virtual void Check(Differences& found) = 0;
  /// Makes what is missing: all of the part after Clear, and after Check what Check has found.
  virtual void Make() = 0;
  /// Returns when the part works. Connect calls it after all parts are made, so that the kernel and
  /// ovs-vswitchd work meanwhile. Gives the interface, read back, that the result shows.
  [[nodiscard]] virtual std::optional<Interface> Await() { return std::nullopt; }
  /// Removes what is `owner`'s: this attachment's, or an older one's. Idempotent. Links of the host
  /// may be left to PlugSite::RemoveLinks.
  virtual void Remove(const Attachment& /*owner*/) {}
  /// Undoes a Make that may have been done in part. Its site has time of its own.
  virtual void Undo() { Remove(site().attachment()); }

 protected:
  [[nodiscard]] PlugSite& site() const noexcept { return site_; }

 private:
  PlugSite& site_;
};

/// In the order in which they are made.
using Parts = std::vector<std::unique_ptr<Part>>;

/// Appends a part, and returns it for parts that depend on it.
template <typename Kind, typename... Arguments>
Kind& Add(Parts& parts, PlugSite& site, Arguments&&... arguments) {
  auto part = std::make_unique<Kind>(site, std::forward<Arguments>(arguments)...);
  Kind& added = *part;
  parts.push_back(std::move(part));
  return added;
}

}  // namespace kuryr::binding
