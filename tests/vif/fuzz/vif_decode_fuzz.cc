#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "vif/decode_any.h"

namespace {

/// The decoder's output goes to terminals and logs, so it must be printable.
void CheckPrintable(std::string_view text) {
  for (const char c : text) {
    if (c != '\n' && (c < 0x20 || c > 0x7e)) std::abort();
  }
}

}  // namespace

/// Any text is either shown or refused with a path.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    CheckPrintable(kuryr::vif::DecodeToText(text));
    static_cast<void>(kuryr::vif::DecodeToJson(text));
  } catch (const kuryr::ParseError& e) {
    CheckPrintable(e.what());
    if (!e.path().starts_with('$')) std::abort();
  }
  return 0;
}
