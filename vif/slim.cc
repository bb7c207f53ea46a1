#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "vif/schema.h"
#include "vif/vif.h"

namespace kuryr::vif {
namespace {

/// Counts the heap memory of values: one function per type of value, and a walk over a class's
/// fields.
struct Slimmer {
  /// Numbers, addresses and the like.
  template <typename T>
  static size_t Value(T& /*value*/) {
    return 0;
  }

  static size_t Value(std::string& text) {
    text.shrink_to_fit();
    return text.capacity() > std::string().capacity() ? text.capacity() + 1 : 0;
  }

  template <typename T>
  static size_t Value(std::vector<T>& values) {
    size_t bytes = values.capacity() * sizeof(T);
    for (T& value : values) bytes += Value(value);
    return bytes;
  }

  template <typename... Classes>
  static size_t Value(std::variant<Classes...>& object) {
    return std::visit([](auto& known) { return Value(known); }, object);
  }

  template <VersionedObject T>
  static size_t Value(T& object) {
    object.envelope = {.version = std::move(object.envelope.version)};
    return std::apply(
        [&](const auto&... members) {
          return (OneField(object.*members.field) + ... + Value(object.envelope.version));
        },
        Schema<T>::kFields);
  }

  template <typename Held>
  static size_t OneField(Field<Held>& field) {
    return field.has_value() ? Value(*field) : 0;
  }
};

}  // namespace

size_t SlimDown(Vif& vif) { return Slimmer::Value(vif); }

}  // namespace kuryr::vif
