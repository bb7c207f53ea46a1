#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "controller/backends/backend.h"
#include "controller/cluster/network_attachments.h"

namespace {

using kuryr::controller::PlanError;
using nlohmann::json;

/// A definition gives a name, nothing, or a refusal without its text.
void Check(json definition) {
  definition["kind"] = "NetworkAttachmentDefinition";
  definition["metadata"]["namespace"] = "default";
  definition["metadata"]["name"] = "net-a";
  kuryr::controller::NetworkAttachments attachments{kuryr::controller::KindParts{}};
  attachments.Handle(
      kuryr::watcher::MakeEvent(kuryr::watcher::EventType::kAdded, std::move(definition)));
  try {
    const auto network =
        attachments.Find("default", "net-a", kuryr::controller::Key::OfPod("default", "pod"));
    if (network && (network->empty() || network->size() > 253)) std::abort();
  } catch (const PlanError& e) {
    if (e.kind() != PlanError::Kind::kRefused || std::string(e.what()).size() > 300) std::abort();
  }
}

}  // namespace

/// Checks the input as the annotation, as spec.config, and, if it is an object, as the definition
/// itself.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Check({{"metadata", {{"annotations", {{"openstack.org/kuryr-config", text}}}}}});
  Check({{"spec", {{"config", text}}}});
  json definition = json::parse(text, nullptr, false);
  if (!definition.is_object()) return 0;
  if (definition.contains("metadata") && !definition["metadata"].is_object())
    definition.erase("metadata");
  Check(std::move(definition));
  return 0;
}
