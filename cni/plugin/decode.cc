#include "cni/plugin/decode.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "base/error.h"
#include "binding/drivers/binding.h"
#include "cni/config.h"
#include "vif/decode_any.h"

namespace kuryr::cni {
namespace {

std::string ReadAll(const std::string& file) {
  std::ostringstream text;
  if (file == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file + ": " + std::strerror(errno));
  text << in.rdbuf();
  return text.str();
}

std::string Verdict(const binding::Binding& binding, const vif::PodVif& vif) {
  try {
    const binding::Plug plug = binding.Plan(vif).plug;
    std::string verdict = "driver " + plug.driver;
    if (!plug.bridge.empty()) verdict += ", bridge " + plug.bridge;
    return verdict;
  } catch (const std::exception& e) {
    return std::string("refused: ") + e.what();
  }
}

/// A line for each VIF, with its driver or why none would plug it.
std::string OnThisNode(const std::string& object, const std::vector<std::string>& config_files) {
  const std::vector<vif::PodVif> vifs = vif::DecodeVifs(object);
  if (vifs.empty()) return "";
  try {
    const Config config = LoadConfig(
        config_files, [](const char* name) { return std::getenv(name); },
        ConfigScope::kWithoutKubernetes);
    const binding::Binding binding(config.binding);
    std::string text;
    for (const vif::PodVif& vif : vifs)
      text += vif.ifname + " on this node: " + Printable(Verdict(binding, vif), 500) + "\n";
    return text;
  } catch (const std::exception& e) {
    return "this node's kuryr.conf: " + Printable(e.what(), 500) + "\n";
  }
}

/// What a user may do about an object that is no JSON.
std::string Hint(const std::string& object) {
  return object.starts_with("apiVersion:") ? "; this is YAML: kubectl get -o json prints JSON" : "";
}

}  // namespace

std::string Decode(const Decoding& decoding, const std::vector<std::string>& config_files) {
  std::string text;
  for (const std::string& file : decoding.files) {
    const std::string object = ReadAll(file);
    if (decoding.files.size() > 1 && !decoding.json) text += "# " + file + "\n";
    try {
      if (decoding.json)
        text += vif::DecodeToJson(object);
      else
        text += vif::DecodeToText(object) + OnThisNode(object, config_files);
    } catch (const std::exception& e) {
      throw std::runtime_error((file == "-" ? "" : file + ": ") + e.what() + Hint(object));
    }
    text += "\n";
  }
  return text;
}

}  // namespace kuryr::cni
