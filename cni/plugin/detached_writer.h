#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cni/pod/api_writer.h"

namespace kuryr::cni {

/// Leaves each write to a process that outlives this one: the same program, with kPostEvent as its
/// only argument.
class DetachedWriter : public ApiWriter {
 public:
  /// `config_files` (kuryr.conf) name the API server. `trace_id` is of the call that writes.
  DetachedWriter(std::vector<std::string> config_files, std::string trace_id)
      : config_files_(std::move(config_files)), trace_id_(std::move(trace_id)) {}

  void WriteLater(ApiWrite write) override;

 private:
  const std::vector<std::string> config_files_;
  const std::string trace_id_;
};

inline constexpr const char* kPostEvent = "--post-event";

/// The work of that process: makes the write in its stdin, within 5 s. Returns the exit status.
[[nodiscard]] int WriteNow(const std::string& input);

}  // namespace kuryr::cni
