#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/names.h"
#include "cni/protocol/args.h"
#include "cni/protocol/wishes.h"
#include "tests/cni/fuzz/properties.h"

namespace kuryr::cni {
namespace {

void Check(std::string_view text) {
  const Args args = ParseArgs(text);
  const Wishes wishes = ParseWishes(nlohmann::json::object(), args);
  Require(wishes.mac.has_value() != args.mac.empty() && wishes.ips.empty() == args.ip.empty());
  RequirePod(args.pod);
  Require(IsDnsName(args.pod.name_space) && IsDnsName(args.pod.name));
  if (!args.pod.uid.empty()) RequireFileName(args.pod.uid);
}

}  // namespace
}  // namespace kuryr::cni

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kuryr::cni;
  try {
    Check({reinterpret_cast<const char*>(data), size});
  } catch (const CniError& e) {
    Require(e.code() == ErrorCode::kInvalidEnvironment);
    RequireTold(e);
  }
  return 0;
}
