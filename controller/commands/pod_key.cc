#include "controller/commands/pod_key.h"

#include <stdexcept>

#include "base/error.h"
#include "base/names.h"

namespace kuryr::controller {

PodKey::PodKey(const std::string& text) {
  const size_t slash = text.find('/');
  name_space = text.substr(0, slash);
  if (slash != std::string::npos) name = text.substr(slash + 1);
  if (!IsDnsName(name_space) || !IsDnsName(name))
    throw std::runtime_error("\"" + Printable(text, 300) + "\" names no pod; expected " +
                             "NAMESPACE/NAME");
}

}  // namespace kuryr::controller
