#include "binding/netlink/nl_error.h"

#include <netlink/errno.h>

#include <cstdlib>

namespace kuryr::binding {
namespace {

class Category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "libnl"; }
  [[nodiscard]] std::string message(int code) const override { return nl_geterror(code); }
  [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
    switch (code) {
      case NLE_AGAIN:
        return std::errc::resource_unavailable_try_again;
      case NLE_BUSY:
        return std::errc::device_or_resource_busy;
      case NLE_EXIST:
        return std::errc::file_exists;
      case NLE_INVAL:
        return std::errc::invalid_argument;
      case NLE_NODEV:
        return std::errc::no_such_device;
      case NLE_NOMEM:
        return std::errc::not_enough_memory;
      case NLE_OPNOTSUPP:
        return std::errc::operation_not_supported;
      case NLE_PERM:
        return std::errc::operation_not_permitted;
      case NLE_PROTO_MISMATCH:
        return std::errc::protocol_not_supported;
      default:
        return {code, *this};
    }
  }
};

}  // namespace

const std::error_category& NlCategory() noexcept {
  static const Category kCategory;
  return kCategory;
}

void CheckNl(int result, const std::string& what) {
  if (result < 0) throw std::system_error(std::abs(result), NlCategory(), what);
}

}  // namespace kuryr::binding
