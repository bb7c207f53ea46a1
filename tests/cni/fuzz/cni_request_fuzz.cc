#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cni/protocol/error.h"
#include "cni/protocol/request.h"

/// Lines "COMMAND", "CONTAINERID", "NETNS", "IFNAME", "ARGS", and the rest is stdin.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto line = [&] {
    const size_t end = text.find('\n');
    const std::string_view found = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return std::string(found);
  };
  kuryr::cni::Environment environment;
  environment.command = line();
  environment.container_id = line();
  environment.netns = line();
  environment.ifname = line();
  environment.args = line();
  try {
    (void)kuryr::cni::ParseRequest(environment, text);
  } catch (const kuryr::cni::CniError& e) {
    (void)kuryr::cni::ErrorJson(e, kuryr::cni::AnswerVersion(text));
  }
  return 0;
}
