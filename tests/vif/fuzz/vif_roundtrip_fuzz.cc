#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "vif/pod_vifs.h"
#include "vif/vif.h"

namespace kuryr::vif {
namespace {

std::vector<PodVif> DecodeEither(std::string_view text) {
  const nlohmann::json document = ParseJson(text);
  if (document.is_object() && (document.contains("kind") || document.contains("metadata")))
    return VifsOf(document).value_or(std::vector<PodVif>());
  return DecodeAnnotation(text);
}

/// Decoding, encoding and decoding again gives the same value, also by way of text. Decoding and
/// encoding an encoded value does not change it.
void Check(std::string_view text) {
  const std::vector<PodVif> vifs = DecodeEither(text);
  for (const PodVif& vif : vifs) {
    const nlohmann::json primitive = EncodeVif(vif.vif);
    if (DecodeVif(primitive) != vif.vif) std::abort();
    const nlohmann::json read = nlohmann::json::parse(primitive.dump());
    if (EncodeVif(DecodeVif(read)) != primitive) std::abort();
  }
  if (!vifs.empty() && vifs[0].is_default) {
    const std::string annotation = EncodeAnnotation(vifs);
    if (EncodeAnnotation(DecodeAnnotation(annotation)) != annotation) std::abort();
  }
}

}  // namespace
}  // namespace kuryr::vif

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    kuryr::vif::Check(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const kuryr::ParseError&) {
    return 0;
  }
  return 0;
}
