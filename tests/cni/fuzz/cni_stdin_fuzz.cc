#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cni/protocol/request.h"
#include "tests/cni/fuzz/properties.h"

namespace kuryr::cni {
namespace {

void Check(const nlohmann::json& input, Command command) {
  try {
    const NetworkConfig config = ParseNetworkConfig(input, command);
    RequireSafeNames(config);
    Require(config.json == input && config.version == ParseVersion(config.cni_version));
    Require(command != Command::kDel || !config.standalone);
    (void)ParseWishes(config.json, {});
  } catch (const CniError& e) {
    RequireTold(e);
  }
}

}  // namespace
}  // namespace kuryr::cni

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kuryr::cni;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const nlohmann::json input = ParseInput(text);
    for (const Command command : {Command::kAdd, Command::kDel, Command::kCheck, Command::kGc,
                                  Command::kStatus, Command::kVersion})
      Check(input, command);
  } catch (const CniError& e) {
    RequireTold(e);
  }
  (void)VersionJson(AnswerVersion(text));
  return 0;
}
