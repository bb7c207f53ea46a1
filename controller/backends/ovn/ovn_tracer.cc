#include "controller/backends/ovn/ovn_tracer.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ip.h"
#include "base/mac.h"
#include "base/unique_fd.h"
#include "controller/backends/ovn/topology.h"

namespace kuryr::controller::ovn {
namespace {

constexpr const char* kProgram = "ovn-trace";
constexpr size_t kMostFate = 1000;

struct TraceOutput {
  std::string text;  ///< of stdout and stderr
  bool failed = false;
};

/// Starts ovn-trace, which writes stdout and stderr to `out`.
pid_t StartTrace(std::vector<std::string> words, int out) {
  words.insert(words.begin(), kProgram);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, kProgram, &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT)
    throw std::runtime_error(
        "ovn-trace is not here: it is in Debian's package ovn-common, and in the image kuryr-ovn");
  if (error != 0) ThrowErrno(error, std::string("execute ") + kProgram);
  return pid;
}

/// Runs ovn-trace to its end. A user of the command line ends it by a signal.
TraceOutput RunTrace(const std::vector<std::string>& arguments) {
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) ThrowErrno("make a pipe");
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  const pid_t pid = StartTrace(arguments, in.get());
  in.reset();
  TraceOutput output;
  std::array<char, 4096> buffer{};
  ssize_t count = 0;
  while ((count = ::read(out.get(), buffer.data(), buffer.size())) != 0) {
    if (count > 0) output.text.append(buffer.data(), static_cast<size_t>(count));
    if (count < 0 && errno != EINTR) break;
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  output.failed = status != 0;
  return output;
}

struct PacketAddresses {
  IpAddress from;
  IpAddress to;
};

PacketAddresses PairOf(const TracedPacket& packet) {
  const std::vector<IpNetwork> targets = vif::AddressesOf(packet.to);
  for (const IpNetwork& source : vif::AddressesOf(packet.from)) {
    const auto target = std::find_if(targets.begin(), targets.end(), [&](const IpNetwork& one) {
      return one.address.family == source.address.family;
    });
    if (target != targets.end()) return {source.address, target->address};
  }
  throw std::runtime_error("the pods have no addresses of one family");
}

/// The MAC to which the pod sends what is for the peer.
MacAddress NextHopOf(const TracedPacket& packet, const PacketAddresses& addresses) {
  const auto& network = packet.from.network;
  if (network.has_value() && network->subnets.has_value()) {
    for (const vif::Subnet& subnet : *network->subnets) {
      if (!subnet.cidr.has_value() || !subnet.cidr->Contains(addresses.from)) continue;
      if (subnet.cidr->Contains(addresses.to)) return packet.to.address.value_or(MacAddress());
      if (subnet.gateway.has_value()) return MacOfGateway(*subnet.gateway);
    }
  }
  throw std::runtime_error("OVN has no gateway of the pod's network, whose peer is on another one");
}

struct Stage {
  std::string name;
  std::string flow;  ///< its match and priority

  [[nodiscard]] std::string ToString() const { return name.empty() ? "" : name + ": " + flow; }
};

/// The stage in a line such as " 4. ls_out_acl (northd.c:6571): MATCH, priority 2000, uuid
/// a63f5cba".
std::optional<Stage> StageOf(const std::string& line) {
  static const std::regex kLine(R"(^ *[0-9]+\. (\w+)(?: \([^)]*\))?: (.*), uuid [0-9a-f]+$)");
  std::smatch parts;
  if (!std::regex_match(line, parts, kLine)) return std::nullopt;
  return Stage{.name = parts[1].str(), .flow = parts[2].str()};
}

/// The stage that decided about a packet whose last stage is `last`. Since OVN 23.06 an ACL decides
/// in a stage *_acl_eval or *_acl_after_lb_eval, and a stage *_action carries that out.
void Follow(const Stage& next, Stage& decisive) {
  constexpr std::string_view kEval = "_eval";
  const bool carries_out =
      decisive.name.ends_with(kEval) &&
      next.name == decisive.name.substr(0, decisive.name.size() - kEval.size()) + "_action";
  if (!carries_out) decisive = next;
}

/// ovn-trace goes on without the flows and rows that it cannot read, and ends with 0.
void CheckIsRead(const std::string& line) {
  constexpr std::array kUnread = {"parsing actions failed", "parsing expression failed",
                                  "constraint violation"};
  const bool is_read = std::none_of(kUnread.begin(), kUnread.end(), [&](const char* text) {
    return line.find(text) != std::string::npos;
  });
  if (!is_read)
    throw std::runtime_error(
        "ovn-trace does not understand the southbound database, and may be older than its "
        "ovn-northd: run one of the same version. It says: " +
        Printable(line, kMostFate));
}

}  // namespace

std::string MicroflowOf(const TracedPacket& packet) {
  const PacketAddresses addresses = PairOf(packet);
  const bool is_ipv4 = addresses.from.family == IpFamily::kIpv4;
  const std::string ip = is_ipv4 ? "ip4" : "ip6";
  std::string text = "inport == \"" + packet.from.id.value_or("") + "\"";
  text.append(" && eth.src == ").append(packet.from.address.value_or(MacAddress()).ToString());
  text.append(" && eth.dst == ").append(NextHopOf(packet, addresses).ToString());
  text.append(" && ").append(ip).append(".src == ").append(addresses.from.ToString());
  text.append(" && ").append(ip).append(".dst == ").append(addresses.to.ToString());
  text.append(" && ip.ttl == 64 && ");
  if (packet.protocol.empty())
    return text + (is_ipv4 ? "icmp4 && icmp4.type == 8" : "icmp6 && icmp6.type == 128");
  return text.append(packet.protocol).append(".dst == ").append(std::to_string(packet.port));
}

PacketFate FateOf(const std::string& output, const std::string& port) {
  std::istringstream lines(output);
  PacketFate fate;
  Stage decisive;
  for (std::string line; std::getline(lines, line);) {
    CheckIsRead(line);
    fate.arrives = fate.arrives || line.find("/* output to \"" + port + "\"") != std::string::npos;
    const auto stage = StageOf(line);
    if (stage && !fate.arrives) Follow(*stage, decisive);
  }
  fate.where = decisive.ToString();
  if (fate.where.empty()) throw std::runtime_error("ovn-trace: " + Printable(output, kMostFate));
  return fate;
}

OvnTracer::OvnTracer(const OvnOptions& options) : options_(options) {}

PacketFate OvnTracer::Trace(const TracedPacket& packet) const {
  // Otherwise a port whose name is a UUID gets another name.
  std::vector<std::string> arguments = {"--detailed", "--no-friendly-names"};
  // The first packet of a connection: one for each look at the connection on its way.
  arguments.insert(arguments.end(), 8, "--ct=new");
  if (!options_.sb_connection.empty()) arguments.push_back("--db=" + options_.sb_connection);
  if (!options_.nb_private_key.empty()) {
    arguments.push_back("--private-key=" + options_.nb_private_key);
    arguments.push_back("--certificate=" + options_.nb_certificate);
    arguments.push_back("--ca-cert=" + options_.nb_ca_cert);
  }
  arguments.push_back(MicroflowOf(packet));
  const TraceOutput output = RunTrace(arguments);
  if (output.failed)
    throw std::runtime_error("ovn-trace failed: " + Printable(output.text, kMostFate));
  return FateOf(output.text, packet.to.id.value_or(""));
}

}  // namespace kuryr::controller::ovn
