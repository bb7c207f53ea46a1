#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "cni/attachment_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto record =
        kuryr::cni::ParseAttachmentRecord({reinterpret_cast<const char*>(data), size});
    if (kuryr::cni::ParseAttachmentRecord(ToJson(record)) != record) std::abort();
  } catch (const kuryr::ParseError&) {
    // What every malformed record ends with.
  }
  return 0;
}
