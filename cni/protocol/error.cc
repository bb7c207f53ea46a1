#include "cni/protocol/error.h"

#include <nlohmann/json.hpp>

namespace kuryr::cni {

std::string ErrorJson(const CniError& error, std::string_view version) {
  nlohmann::ordered_json json = {
      {"cniVersion", version}, {"code", static_cast<int>(error.code())}, {"msg", error.what()}};
  if (!error.details().empty()) json["details"] = error.details();
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace kuryr::cni
