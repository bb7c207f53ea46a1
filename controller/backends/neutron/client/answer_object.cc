#include "controller/backends/neutron/client/answer_object.h"

#include "base/names.h"

namespace kuryr::controller::neutron {

using nlohmann::json;

const json* AnswerObject::Find(const char* key) const {
  const auto found = json_.find(key);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

void AnswerObject::RefuseMissing(const char* key, const char* expected) const {
  vif::Path(path_, key).Refuse(std::string("is missing, expected ") + expected);
}

std::string AnswerObject::Text(const char* key) const {
  const json* value = Find(key);
  if (value == nullptr) return "";
  if (!value->is_string()) vif::Path(path_, key).Refuse(*value, "a string");
  return value->get<std::string>();
}

bool AnswerObject::Flag(const char* key) const {
  const json* value = Find(key);
  if (value == nullptr) return false;
  if (!value->is_boolean()) vif::Path(path_, key).Refuse(*value, "true or false");
  return value->get<bool>();
}

int64_t AnswerObject::Number(const char* key, int64_t least, int64_t most) const {
  const json* value = Find(key);
  if (value == nullptr) return 0;
  // An unsigned that does not fit would wrap round.
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX);
  if (!fits || value->get<int64_t>() < least || value->get<int64_t>() > most) {
    vif::Path(path_, key)
        .Refuse(*value, "a number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value->get<int64_t>();
}

std::vector<std::string> AnswerObject::Texts(const char* key) const {
  return List(key, [](const json& value, const vif::Path& path) {
    if (!value.is_string()) path.Refuse(value, "a string");
    return value.get<std::string>();
  });
}

std::string AnswerObject::Id(const char* key) const {
  if (Find(key) == nullptr) RefuseMissing(key, "a UUID");
  std::string id = Text(key);
  if (!IsUuid(id)) vif::Path(path_, key).Refuse(*Find(key), "a UUID");
  return id;
}

}  // namespace kuryr::controller::neutron
