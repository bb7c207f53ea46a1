// vif_exchange generate SEED COUNT: for COUNT random VIFs of every kind, and PodStates, one line
// {"primitive": our encoding, "decoded": the value}.
// vif_exchange decode: for every line of stdin, a primitive, one line {"reencoded": ..., "decoded":
// ...} or {"error": ...}.

#include <cstring>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "tests/vif/decoded_form.h"
#include "tests/vif/random_vif.h"
#include "vif/vif.h"

namespace kuryr::vif {
namespace {

using nlohmann::json;

void Generate(uint64_t seed, size_t count) {
  RandomValues random(seed, Dialect::kOsVif3);
  for (size_t i = 0; i < count; ++i) {
    for (size_t kind = 0; kind < std::variant_size_v<Vif>; ++kind) {
      const Vif vif = random.VifOfKind(kind);
      std::cout << json{{"primitive", EncodeVif(vif)}, {"decoded", DecodedForm::Of(vif)}} << '\n';
    }
    const auto state = random.Object<PodState>();
    std::cout << json{{"primitive", EncodePodState(state)}, {"decoded", DecodedForm::Of(state)}}
              << '\n';
  }
}

json Decoded(const std::string& line) {
  const json primitive = ParseJson(line);
  if (primitive.at("versioned_object.name") == "PodState") {
    const PodState state = DecodePodState(primitive);
    return {{"reencoded", EncodePodState(state)}, {"decoded", DecodedForm::Of(state)}};
  }
  const Vif vif = DecodeVif(primitive);
  return {{"reencoded", EncodeVif(vif)}, {"decoded", DecodedForm::Of(vif)}};
}

void DecodeLines() {
  std::string line;
  while (std::getline(std::cin, line)) {
    try {
      std::cout << Decoded(line) << '\n';
    } catch (const std::exception& e) {
      std::cout << json{{"error", e.what()}} << '\n';
    }
  }
}

}  // namespace
}  // namespace kuryr::vif

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "generate") == 0) {
    kuryr::vif::Generate(std::stoull(argv[2]), std::stoull(argv[3]));
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "decode") == 0) {
    kuryr::vif::DecodeLines();
    return 0;
  }
  std::cerr << "usage: vif_exchange generate SEED COUNT | decode\n";
  return 2;
}
