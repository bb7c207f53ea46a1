#pragma once

#include <vector>

#include "cni/attachments/attachment_record.h"
#include "cni/config.h"
#include "cni/pod/api_writer.h"
#include "cni/pod/pod_result.h"
#include "watcher/pod_event.h"

namespace kuryr::cni {

/// Tells the API server of the attachments of running pods, as far as kuryr.conf wants it. A write
/// that fails is logged. Thread-safe.
class AttachmentReporter {
 public:
  /// Both are borrowed.
  AttachmentReporter(const Config& config, ApiWriter& writer) : config_(config), writer_(writer) {}

  /// Makes an Event of the record's pod.
  void Post(const AttachmentRecord& record, const watcher::PodEvent& event) const noexcept;
  /// Sets the network status of the record's pod.
  void SetStatus(const AttachmentRecord& record,
                 const std::vector<PluggedVif>& vifs) const noexcept;

 private:
  void Write(ApiWrite write) const noexcept;

  const Config& config_;
  ApiWriter& writer_;
};

}  // namespace kuryr::cni
