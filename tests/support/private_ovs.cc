#include "tests/support/private_ovs.h"

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "base/error.h"

namespace kuryr::test {
namespace {

constexpr const char* kSchema = "/usr/share/openvswitch/vswitch.ovsschema";

std::filesystem::path MakeFolder(const std::filesystem::path& parent) {
  std::string name = parent / "ovs-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) ThrowErrno("make " + name);
  return name;
}

void Stop(std::optional<Process>& process) {
  if (!process) return;
  process->Signal(SIGTERM);
  process->Wait();
  process.reset();
}

}  // namespace

PrivateOvs::PrivateOvs(const std::filesystem::path& parent)
    : folder_(MakeFolder(parent)),
      env_{{"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"},
           {"OVS_RUNDIR", folder_},
           {"OVS_LOGDIR", folder_},
           {"OVS_DBDIR", folder_},
           {"OVS_SYSCONFDIR", folder_}} {
  Run({"ovsdb-tool", "create", Path("conf.db"), kSchema});
  StartServer();
  Vsctl({"--no-wait", "init"});
  StartVswitchd();
}

PrivateOvs::~PrivateOvs() {
  // ovs-vswitchd ends first: it would try to reconnect.
  vswitchd_.reset();
  server_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

const std::string& PrivateOvs::datapath_type() {
  // Even without the module, ovs-vswitchd lists "system" among its datapath_types.
  static const std::string type =
      std::filesystem::exists("/sys/module/openvswitch") ? "system" : "netdev";
  return type;
}

std::string PrivateOvs::remote() const { return "unix:" + Path("db.sock"); }

std::string PrivateOvs::Path(const std::string& name) const { return folder_ / name; }

void PrivateOvs::StartServer(const std::vector<std::string>& options) {
  std::vector<std::string> argv = {"ovsdb-server", Path("conf.db"), "--remote=p" + remote(),
                                   "--unixctl=" + Path("ovsdb-server.ctl"), "-vconsole:info"};
  argv.insert(argv.end(), options.begin(), options.end());
  server_.emplace(Command{.argv = std::move(argv), .env = env_});
  // ovsdb-server logs this when it listens.
  server_->WaitForOutput("ovsdb-server (Open vSwitch)");
}

void PrivateOvs::StartVswitchd() { StartVswitchd("ovs-vswitchd"); }

bool PrivateOvs::StartVswitchdWithDpdk(DpdkMemory memory) {
  const std::string program = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk";
  if (!std::filesystem::exists(program)) return false;
  const bool shared = memory == DpdkMemory::kShared;
  const std::string options = std::string("--legacy-mem --no-huge -m ") +
                              (shared ? "1024" : "256") + " --no-pci --file-prefix " +
                              folder_.filename().string();
  Vsctl({"--no-wait", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
         std::string("other_config:per-port-memory=") + (shared ? "false" : "true"),
         "other_config:dpdk-extra=\"" + options + "\""});
  StartVswitchd(program);
  return true;
}

void PrivateOvs::StartVswitchd(const std::string& program) {
  std::vector<std::string> argv = {program, remote(), "--unixctl=" + Path("ovs-vswitchd.ctl"),
                                   "-vconsole:info"};
  if (datapath_type() != "system") argv.emplace_back("--disable-system");
  vswitchd_.emplace(Command{.argv = std::move(argv), .env = env_});
  // ovs-vswitchd logs this when it has applied the database for the first time.
  vswitchd_->WaitForOutput(" (Open vSwitch) ");
  // It logs each port to its output, which no test reads; when a pipe is full, it blocks.
  Run({"ovs-appctl", "--target=" + Path("ovs-vswitchd.ctl"), "vlog/set", "console:warn"});
}

void PrivateOvs::StopServer() { Stop(server_); }

void PrivateOvs::StopVswitchd() { Stop(vswitchd_); }

std::string PrivateOvs::Vsctl(std::vector<std::string> arguments) {
  std::vector<std::string> argv = {"ovs-vsctl", "--db=" + remote(), "--timeout=10"};
  argv.insert(argv.end(), std::make_move_iterator(arguments.begin()),
              std::make_move_iterator(arguments.end()));
  return Run(std::move(argv));
}

void PrivateOvs::DeleteTransientPorts() {
  Run({"/usr/share/openvswitch/scripts/ovs-ctl", "delete-transient-ports"});
}

void PrivateOvs::ForgetFlows() {
  Run({"ovs-appctl", "--target=" + Path("ovs-vswitchd.ctl"), "revalidator/purge"});
}

long PrivateOvs::CountReconfigurations() {
  const auto read = [&] {
    return std::stol(Run({"ovs-appctl", "--target=" + Path("ovs-vswitchd.ctl"),
                          "coverage/read-counter", "bridge_reconfigure"}));
  };
  // ovs-vswitchd answers once in a round of its loop, and acts on a notice in the next round.
  long before = -1;
  long now = read();
  for (int same = 0; same < 3; same = now == before ? same + 1 : 0) {
    before = now;
    now = read();
  }
  return now;
}

std::string PrivateOvs::Run(std::vector<std::string> argv) {
  std::string what;
  for (const std::string& argument : argv) what += argument + " ";
  ProcessResult result = RunProgram({.argv = std::move(argv), .env = env_});
  if (result.status != 0) throw std::runtime_error(what + "failed: " + result.err);
  if (!result.out.empty() && result.out.back() == '\n') result.out.pop_back();
  return result.out;
}

}  // namespace kuryr::test
