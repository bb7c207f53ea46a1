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
  /// The kuryr.conf files that name the API server, and the call that the writes are made for.
  DetachedWriter(std::vector<std::string> config_files, std::string trace_id)
      : config_files_(std::move(config_files)), trace_id_(std::move(trace_id)) {}

  void WriteLater(ApiWrite write) override;

 private:
  const std::vector<std::string> config_files_;
  const std::string trace_id_;
};

inline constexpr const char* kPostEvent = "--post-event";

/// What that process does with its stdin, within 5 s: its exit status, for nobody.
[[nodiscard]] int WriteNow(const std::string& input);

}  // namespace kuryr::cni
