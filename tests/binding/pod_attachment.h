#pragma once

#include <chrono>
#include <string>

#include "binding/plan/attachment.h"

namespace kuryr::binding {

inline Deadline Soon() { return Deadline::After(std::chrono::seconds(60)); }

inline Attachment PodAttachment(int n) {
  return {.network = "kuryr",
          .container_id = "container-" + std::to_string(n),
          .ifname = "eth0",
          .pod = "default/pod-" + std::to_string(n),
          .pod_uid = "uid-" + std::to_string(n)};
}

}  // namespace kuryr::binding
