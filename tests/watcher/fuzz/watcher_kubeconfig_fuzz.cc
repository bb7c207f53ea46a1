#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "watcher/kubeconfig.h"

/// An accepted kubeconfig is complete: it has a server, and gives up verification only without
/// authorities.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto api = kuryr::watcher::ParseKubeconfig("/nowhere/config",
                                                     {reinterpret_cast<const char*>(data), size});
    if (api.api_root.empty() || (!api.verify_server && !api.ca.empty())) std::abort();
    if (api.client_cert.empty() != api.client_key.empty()) std::abort();
  } catch (const kuryr::ParseError&) {
    // The expected end of every malformed kubeconfig.
  }
  return 0;
}
