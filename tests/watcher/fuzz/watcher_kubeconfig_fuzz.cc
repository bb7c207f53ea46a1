#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "watcher/kubeconfig.h"

/// What is accepted is complete: a server, and verification given up only without authorities.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto api = kuryr::watcher::ParseKubeconfig("/nowhere/config",
                                                     {reinterpret_cast<const char*>(data), size});
    if (api.api_root.empty() || (!api.verify_server && !api.ca.empty())) std::abort();
    if (api.client_cert.empty() != api.client_key.empty()) std::abort();
  } catch (const kuryr::ParseError&) {
    // What every malformed kubeconfig ends with.
  }
  return 0;
}
