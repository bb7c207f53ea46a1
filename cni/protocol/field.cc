#include "cni/protocol/field.h"

namespace kuryr::cni {

using nlohmann::json;

uint32_t TakeNumber(const json& object, const std::string& where, const char* name, uint32_t least,
                    uint32_t most) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return 0;
  if (!found->is_number_unsigned() || found->get<uint64_t>() < least ||
      found->get<uint64_t>() > most) {
    RefuseField(where + name, "is " + Printable(found->dump(-1, ' ', true)) +
                                  ", expected a number from " + std::to_string(least) + " to " +
                                  std::to_string(most));
  }
  return found->get<uint32_t>();
}

const json* TakeObject(const json& object, const std::string& where, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return nullptr;
  if (!found->is_object())
    RefuseField(where + name,
                std::string("is a JSON ") + found->type_name() + ", expected an object");
  return &*found;
}

}  // namespace kuryr::cni
