#include "cni/plugin/options.h"

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "vif/decode_any.h"

namespace kuryr::cni {
namespace {

constexpr const char* kAbout =
    "kuryr-cni plugs a pod into the network that Neutron, or another producer, planned for it.\n"
    "Container runtimes execute it (CNI): CNI_COMMAND and its kin in the environment, the network\n"
    "configuration on stdin, the result on stdout.\n";

constexpr const char* kExample =
    "Example:\n"
    "  kubectl get pod nginx -o json | kuryr-cni --decode -\n"
    "  echo '{\"cniVersion\":\"1.0.0\"}' | CNI_COMMAND=VERSION kuryr-cni\n";

std::string ReadAll(const std::string& file) {
  std::ostringstream text;
  if (file == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  text << in.rdbuf();
  return text.str();
}

}  // namespace

Options ParseOptions(int argc, char** argv) {
  Options options;
  if (argc <= 1) return options;

  CLI::App app(kAbout, "kuryr-cni");
  app.footer(kExample);
  app.set_version_flag("--version", "kuryr-cni " KURYR_VERSION);
  app.add_option(
      "--config-file", options.config_files,
      "kuryr.conf; may be given several times, a later one wins (default /etc/kuryr/kuryr.conf)");
  app.add_flag("--debug", options.debug, "log every step on stderr");
  std::string decode;
  bool json = false;
  CLI::Option* decode_option = app.add_option(
      "--decode", decode,
      "print the VIFs of a Pod, KuryrPort, annotation or VIF in FILE (- for stdin) and exit");
  app.add_flag("--json", json, "with --decode: as normalised JSON")->needs(decode_option);
  try {
    app.parse(argc, argv);
    if (decode_option->count() > 0) {
      const std::string text = ReadAll(decode);
      options.text = (json ? vif::DecodeToJson(text) : vif::DecodeToText(text)) + "\n";
    }
  } catch (const CLI::ParseError& e) {
    std::ostringstream out;
    std::ostringstream error;
    options.exit_code = app.exit(e, out, error);
    options.text = out.str() + error.str();
  } catch (const std::exception& e) {
    options.text = std::string("kuryr-cni: ") + e.what() + "\n";
    options.exit_code = 1;
  }
  return options;
}

}  // namespace kuryr::cni
