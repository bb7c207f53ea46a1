#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cni/protocol/request.h"
#include "tests/cni/fuzz/properties.h"

namespace kuryr::cni {
namespace {

void Check(const Environment& environment, std::string_view input) {
  const Request request = ParseRequest(environment, input);
  if (request.command == Command::kVersion) return;
  RequireSafeNames(request.config);
  if (request.command == Command::kGc) Require(request.config.valid_attachments.has_value());
  if (request.command == Command::kGc || request.command == Command::kStatus) return;
  RequireFileName(request.container_id);
  RequireFileName(request.ifname);
}

}  // namespace
}  // namespace kuryr::cni

/// Lines "COMMAND", "CONTAINERID", "NETNS", "IFNAME", "ARGS", and the rest is stdin.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kuryr::cni;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto line = [&] {
    const size_t end = text.find('\n');
    const std::string_view found = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return std::string(found);
  };
  Environment environment;
  environment.command = line();
  environment.container_id = line();
  environment.netns = line();
  environment.ifname = line();
  environment.args = line();
  environment.path = "/opt/cni/bin";
  try {
    Check(environment, text);
  } catch (const CniError& e) {
    RequireTold(e);
  }
  return 0;
}
