#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "base/deadline.h"
#include "binding/drivers/binding.h"
#include "cni/attachments/attachment_record.h"

namespace kuryr::cni {

/// The network namespace that the record's pod had at its ADD. Null when it is gone, or when
/// another one is at its path. Throws std::system_error.
[[nodiscard]] std::optional<binding::Netns> FindNetnsOf(const AttachmentRecord& record);

/// Compares the VIFs of a record with what the node has, and repairs them. Borrows all that it is
/// made from. `pod` is the namespace of the record's pod.
class RecordCheck {
 public:
  /// Changes a plan before it is compared.
  using Change = std::function<void(binding::Planned& planned)>;

  RecordCheck(binding::Binding& binding, const AttachmentRecord& record, const binding::Netns& pod,
              const Deadline& deadline)
      : binding_(binding), record_(record), pod_(pod), deadline_(deadline) {}

  /// As Binding::PlanWith and Binding::Check, for one of the record's VIFs.
  [[nodiscard]] binding::Differences Check(size_t vif, const Change& change = {}) const;
  /// As Binding::PlanWith and Binding::Repair, for one of the record's VIFs.
  [[nodiscard]] binding::Differences Repair(size_t vif) const;

 private:
  [[nodiscard]] binding::Planned PlanOf(size_t vif) const;

  binding::Binding& binding_;
  const AttachmentRecord& record_;
  const binding::Netns& pod_;
  const Deadline deadline_;
};

}  // namespace kuryr::cni
