#include "vif/decode_any.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "vif/pod_vifs.h"
#include "vif/readable.h"
#include "vif/vif.h"

namespace kuryr::vif {
namespace {

using nlohmann::json;

enum class Shape { kPod, kKuryrPort, kNetwork, kInstanceInfo, kAnnotation };

Shape ShapeOf(const json& document) {
  if (!document.is_object())
    throw ParseError("$", "expected a Pod, a KuryrPort, a VIF or a map of VIFs");
  const auto is = [&](const char* key, const char* value) {
    const auto found = document.find(key);
    return found != document.end() && *found == value;
  };
  if (is("versioned_object.name", "Network")) return Shape::kNetwork;
  if (is("versioned_object.name", "InstanceInfo")) return Shape::kInstanceInfo;
  if (document.contains("kind") || document.contains("metadata"))
    return IsKuryrPort(document) ? Shape::kKuryrPort : Shape::kPod;
  return Shape::kAnnotation;
}

std::string TextAt(const json& object, const char* path) {
  const json::json_pointer pointer(path);
  if (!object.contains(pointer)) return "-";
  const json& value = object.at(pointer);
  return value.is_string() ? Printable(value.get_ref<const std::string&>(), 253) : "?";
}

bool IsTrue(const json& object, const char* path) {
  const json::json_pointer pointer(path);
  return object.contains(pointer) && object.at(pointer) == true;
}

std::string Heading(const json& object, Shape shape) {
  const bool is_port = shape == Shape::kKuryrPort;
  std::string out = is_port ? "KuryrPort " : "Pod ";
  out += TextAt(object, "/metadata/namespace") + "/" + TextAt(object, "/metadata/name");
  out += ", pod UID " + TextAt(object, is_port ? "/spec/podUid" : "/metadata/uid");
  out += ", node " + TextAt(object, is_port ? "/spec/podNodeName" : "/spec/nodeName");
  if (IsTrue(object, "/spec/podStatic")) out += ", static pod";
  if (TextAt(object, "/metadata/deletionTimestamp") != "-") out += ", being deleted";
  return out + "\n";
}

json Reencoded(const json& content, const std::vector<PodVif>& vifs) {
  const bool is_object = content.contains("versioned_object.name");
  if (is_object && content["versioned_object.name"] == "PodState")
    return EncodePodState(DecodePodState(content));
  if (is_object) return EncodeVif(vifs.at(0).vif);
  json map = json::object();
  for (const PodVif& vif : vifs) map[vif.ifname] = EncodeVif(vif.vif);
  return map;
}

json ReencodedPod(const json& pod) {
  const auto vifs = VifsOf(pod);
  if (!vifs) return nullptr;
  const json& text = pod.at("metadata").at("annotations").at(std::string(kVifAnnotation));
  return Reencoded(ParseJson(text.get_ref<const std::string&>()), *vifs);
}

json ReencodedKuryrPort(const json& port) {
  const auto vifs = VifsOf(port);
  if (!vifs) return nullptr;
  json map = json::object();
  for (const PodVif& vif : *vifs)
    map[vif.ifname] = {{"default", vif.is_default}, {"vif", EncodeVif(vif.vif)}};
  return map;
}

}  // namespace

std::string DecodeToText(std::string_view text) {
  const json document = ParseJson(text);
  const Shape shape = ShapeOf(document);
  switch (shape) {
    case Shape::kPod:
    case Shape::kKuryrPort: {
      const auto vifs = VifsOf(document);
      return Heading(document, shape) + (vifs ? Readable(*vifs) : "no VIF yet\n");
    }
    case Shape::kNetwork:
      return Readable(DecodeNetwork(document));
    case Shape::kInstanceInfo:
      return Readable(DecodeInstanceInfo(document));
    case Shape::kAnnotation:
      break;
  }
  const std::vector<PodVif> vifs = DecodeAnnotation(text);
  return vifs.empty() ? "no VIF yet\n" : Readable(vifs);
}

std::vector<PodVif> DecodeVifs(std::string_view text) {
  const json document = ParseJson(text);
  switch (ShapeOf(document)) {
    case Shape::kPod:
    case Shape::kKuryrPort:
      return VifsOf(document).value_or(std::vector<PodVif>());
    case Shape::kAnnotation:
      return DecodeAnnotation(text);
    case Shape::kNetwork:
    case Shape::kInstanceInfo:
      break;
  }
  return {};
}

std::string DecodeToJson(std::string_view text) {
  const json document = ParseJson(text);
  json out;
  switch (ShapeOf(document)) {
    case Shape::kPod:
      out = ReencodedPod(document);
      break;
    case Shape::kKuryrPort:
      out = ReencodedKuryrPort(document);
      break;
    case Shape::kNetwork:
      out = EncodeNetwork(DecodeNetwork(document));
      break;
    case Shape::kInstanceInfo:
      out = EncodeInstanceInfo(DecodeInstanceInfo(document));
      break;
    case Shape::kAnnotation:
      out = Reencoded(document, DecodeAnnotation(text));
      break;
  }
  return out.dump(2) + "\n";
}

}  // namespace kuryr::vif
