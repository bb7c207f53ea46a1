#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "cni/attachments/attachment_record.h"
#include "tests/cni/fuzz/properties.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto record =
        kuryr::cni::ParseAttachmentRecord({reinterpret_cast<const char*>(data), size});
    kuryr::cni::Require(kuryr::cni::ParseAttachmentRecord(ToJson(record)) == record);
  } catch (const kuryr::ParseError& e) {
    // Every malformed record ends with such an error.
    kuryr::cni::Require(!kuryr::cni::HasControlCharacter(e.what()));
  }
  return 0;
}
