#include "cni/plugin/options.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "cni/doctor/doctor.h"
#include "cni/plugin/decode.h"
#include "cni/plugin/install.h"
#include "service/command_line.h"
#include "service/daemon_line.h"

namespace kuryr::cni {
namespace {

constexpr const char* kAbout =
    "kuryr-cni plugs a pod into the network that Neutron, or another producer, planned for it.\n"
    "Container runtimes execute it (CNI): CNI_COMMAND and its kin in the environment, the network\n"
    "configuration on stdin, the result on stdout.\n";

constexpr const char* kHint = "kuryr-cni --help shows more; kuryr-cni doctor checks this node.\n";

constexpr const char* kExample =
    "Example:\n"
    "  kuryr-cni doctor\n"
    "  kuryr-cni install --dry-run --conflist etc/10-kuryr.conflist\n"
    "  kubectl get pod nginx -o json | kuryr-cni decode -\n"
    "  echo '{\"cniVersion\":\"1.0.0\"}' | CNI_COMMAND=VERSION kuryr-cni\n";

/// Whether a person calls: a terminal sends no network configuration.
bool IsForAPerson() { return std::getenv("CNI_COMMAND") == nullptr && ::isatty(STDIN_FILENO) == 1; }

/// The words of the command line. "--decode", the former name of the command, becomes "decode".
std::vector<const char*> WordsOf(int argc, char** argv) {
  constexpr std::string_view kFormer = "--decode";
  std::vector<const char*> words(argv, argv + argc);
  const auto found = std::find_if(words.begin() + 1, words.end(), [&](std::string_view word) {
    return word == kFormer || word.starts_with(std::string(kFormer) + "=");
  });
  if (found == words.end()) return words;
  if (*found == kFormer)
    words.erase(found);
  else
    *found += kFormer.size() + 1;
  words.insert(words.begin() + 1, "decode");
  return words;
}

service::CommandLine AddDecodeCommand(service::CommandLine& line, Decoding& decoding) {
  service::CommandLine command = line.AddCommand(
      "decode", "Print the VIFs of a Pod, KuryrPort, annotation or VIF, and the driver for each");
  command.Add("FILE", decoding.files, "Read this file, or stdin for -; several may be given")
      .Require();
  command.AddOutput(decoding.json);
  return command;
}

struct Examination {
  doctor::RuntimeFolders folders;
  bool json = false;
};

service::CommandLine AddDoctorCommand(service::CommandLine& line, Examination& examination) {
  service::CommandLine command = line.AddCommand(
      "doctor", "Check everything that pods need on this node, and say how to fix it");
  command.Add("--host FOLDER", examination.folders.host, "Look at this root of a node (default /)");
  command.Add("--cni-conf-dir FOLDER", examination.folders.conf_dir,
              "Expect network configurations here (default: as the runtime's configuration says)");
  command.Add("--cni-bin-dir FOLDER", examination.folders.bin_dir,
              "Expect plugins here (default: as the runtime's configuration says)");
  command.AddOutput(examination.json);
  return command;
}

void Examine(const Examination& examination, Options& options) {
  const auto findings = doctor::Examine(options.config_files, examination.folders);
  const bool is_coloured = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  options.text =
      examination.json ? doctor::ToJson(findings) : doctor::ToText(findings, is_coloured);
  options.exit_code = doctor::IsHealthy(findings) ? 0 : service::kUnwell;
}

service::CommandLine AddInstallCommand(service::CommandLine& line, Installation& installation) {
  service::CommandLine command = line.AddCommand(
      "install", "Put this program, kuryr.conf and the network configuration on a node");
  command.Add("--host FOLDER", installation.host,
              "Install below this root of a node (default: /host, where the image's container has "
              "the node; without /host, this machine if it has no other network configuration)");
  command.Add("--conflist FILE", installation.conflist,
              "Install this network configuration (default: the image's or package's)");
  command.Add("--cni-conf-dir FOLDER", installation.conf_dir,
              "Put it here (default: as the runtime's configuration says)");
  command.Add("--cni-bin-dir FOLDER", installation.bin_dir,
              "Put the program here (default: as the runtime's configuration says, and "
              "/opt/cni/bin)");
  command.Add("--no-portmap", installation.leaves_out_portmap,
              "Leave portmap out of the network configuration, even if the node has it");
  command.Add("--dry-run", installation.only_tells, "Only show what it would install");
  return command;
}

std::string InstallAs(Installation installation, const std::vector<std::string>& config_files) {
  if (config_files.size() > 1)
    throw std::runtime_error("install takes one --config-file: a node has one kuryr.conf");
  if (!config_files.empty()) installation.kuryr_conf = config_files.front();
  return Install(installation);
}

}  // namespace

Options ParseOptions(int argc, char** argv) {
  Options options;
  if (argc <= 1) {
    if (IsForAPerson())
      options = {.text = std::string(kAbout) + kHint,
                 .is_error = true,
                 .exit_code = service::kCommandFailed};
    return options;
  }

  service::ProgramLine line("kuryr-cni", kAbout, kExample);
  line.Add("-c,--config-file FILE", options.config_files, service::kAboutConfigFile);
  line.Add("--debug", options.debug, "Log every step on stderr");
  Decoding decoding;
  const service::CommandLine decode_command = AddDecodeCommand(line, decoding);
  Examination examination;
  const service::CommandLine doctor_command = AddDoctorCommand(line, examination);
  Installation installation;
  const service::CommandLine install_command = AddInstallCommand(line, installation);
  const std::vector<const char*> words = WordsOf(argc, argv);
  if (const auto end = line.Parse(static_cast<int>(words.size()), words.data())) {
    options.text = end->text;
    options.is_error = end->exit_code != 0;
    options.exit_code = end->exit_code;
    return options;
  }
  try {
    // A plugin that is asked for its versions may end before it has read the question.
    static_cast<void>(::signal(SIGPIPE, SIG_IGN));
    if (decode_command.IsGiven()) options.text = Decode(decoding, options.config_files);
    if (doctor_command.IsGiven()) Examine(examination, options);
    if (install_command.IsGiven()) options.text = InstallAs(installation, options.config_files);
  } catch (const std::exception& e) {
    options.text = std::string("kuryr-cni: ") + e.what() + "\n";
    options.is_error = true;
    options.exit_code = service::kCommandFailed;
  }
  return options;
}

}  // namespace kuryr::cni
