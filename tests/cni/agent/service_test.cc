#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "base/unique_fd.h"
#include "tests/cni/agent/agent_fixture.h"
#include "tests/support/paths.h"

// kuryr-daemon as a service of systemd: etc/kuryr-daemon.service, etc/kuryr-daemon.socket.

namespace kuryr::test {
namespace {

using ::testing::HasSubstr;

/// The words of a line "KEY=WORD WORD" of the unit, or of "KEY: WORD" of /proc/PID/status.
std::vector<std::string> WordsOf(const std::string& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key, 0) != 0) continue;
    std::istringstream rest(line.substr(key.size()));
    return {std::istream_iterator<std::string>(rest), {}};
  }
  ADD_FAILURE() << file << " has no " << key;
  return {};
}

const std::string kUnit = test::SourceDir() + "/etc/kuryr-daemon.service";

std::vector<std::string> UnitsCapabilities() { return WordsOf(kUnit, "CapabilityBoundingSet="); }

std::string MaskOf(const std::vector<std::string>& names) {
  const std::map<std::string, unsigned> bits = {{"CAP_DAC_OVERRIDE", CAP_DAC_OVERRIDE},
                                                {"CAP_NET_ADMIN", CAP_NET_ADMIN},
                                                {"CAP_SYS_ADMIN", CAP_SYS_ADMIN},
                                                {"CAP_SYS_PTRACE", CAP_SYS_PTRACE}};
  uint64_t mask = 0;
  for (const std::string& name : names) mask |= uint64_t{1} << bits.at(name);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(mask));
  return text;
}

class ServiceTest : public AgentTest {
 protected:
  [[nodiscard]] std::string Status(const std::string& key) const {
    return WordsOf("/proc/" + std::to_string(agent_->id()) + "/status", key + ":").at(0);
  }
};

TEST_F(ServiceTest, KeepsTheUnitsCapabilitiesAloneAndGainsNoOthers) {
  const std::string mask = MaskOf(UnitsCapabilities());

  EXPECT_EQ(Status("CapEff"), mask);
  EXPECT_EQ(Status("CapPrm"), mask);
  EXPECT_EQ(Status("CapBnd"), mask);
  EXPECT_EQ(Status("CapInh"), std::string(16, '0'));
  EXPECT_EQ(Status("NoNewPrivs"), "1");
}

TEST_F(ServiceTest, HasAFilterOfSystemCallsWithoutAUnit) {
  EXPECT_EQ(Status("Seccomp"), "2") << "SECCOMP_MODE_FILTER";
}

TEST_F(ServiceTest, RunsWithWhatTheUnitGrants) {
  std::string bounds = "-all";
  for (const std::string& name : UnitsCapabilities()) {
    bounds += ",+";
    for (const char c : name.substr(4)) bounds += static_cast<char>(std::tolower(c));
  }
  // An Open vSwitch with a user of its own.
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::chown(ovs_->folder().c_str(), kNobody, kNobody), 0);
  std::filesystem::permissions(ovs_->folder(), std::filesystem::perms::owner_all);
  StopAgent(SIGTERM);
  StartAgent({"setpriv", "--no-new-privs", "--inh-caps=-all", "--bounding-set=" + bounds});
  const TestPod pod = ActivePod("nginx");

  EXPECT_EQ(Run("ADD", pod).status, 0);
  EXPECT_EQ(Status("CapEff"), MaskOf(UnitsCapabilities()));
  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});
  EXPECT_EQ(Run("DEL", pod).status, 0);
  ExpectNothingLeft();
}

/// Starts what follows again and again with a listener that stays, as systemd does for a socket
/// unit. SIGTERM is passed on.
constexpr const char* kKeepSocket = R"(
import os, signal, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(512)
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
signal.signal(signal.SIGTERM, lambda number, frame: os.kill(child, number))
while True:
    child = os.fork()
    if child == 0:
        os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))
        os.execv(sys.argv[2], sys.argv[2:])
    os.waitpid(child, 0)
)";

TEST_F(ServiceTest, NoCallFailsOverARestartBehindASocketUnit) {
  StopAgent(SIGTERM);
  std::filesystem::remove(agent_socket());
  StartAgent({"python3", "-c", kKeepSocket, agent_socket()});
  for (int round = 0; round < 5; ++round) {
    const TestPod pod = ActivePod("nginx-" + std::to_string(round));
    Process add(Call("ADD", pod));
    agent_->Signal(SIGTERM);

    EXPECT_EQ(add.Wait().status, 0);
    EXPECT_EQ(Run("DEL", pod).status, 0);
  }
  ExpectNothingLeft();
}

TEST_F(ServiceTest, ADescriptorThatIsNoListenerIsRefused) {
  StopAgent(SIGTERM);

  const ProcessResult result =
      RunProgram({.argv = {"bash", "-c",
                           R"(LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" --config-file "$1" 3</dev/null)",
                           test::BinDir() + "/kuryr-daemon", work_ / "kuryr.conf"}});

  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("descriptor 3 is no listening socket"));
}

TEST_F(ServiceTest, FeedsTheWatchdog) {
  StopAgent(SIGTERM);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::string path = work_ / "notify";
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(address.sun_path, path.data(), path.size());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const timeval patience = {.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const auto next = [&] {
    char text[64];
    const ssize_t size = ::recv(socket.get(), text, sizeof text, 0);
    return std::string(text, size < 0 ? 0 : static_cast<size_t>(size));
  };

  StartAgent({"env", "NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=100000"});

  EXPECT_EQ(next(), "READY=1");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(next(), "WATCHDOG=1");
  agent_->Signal(SIGTERM);
  std::string last = next();
  while (last == "WATCHDOG=1") last = next();
  EXPECT_EQ(last, "STOPPING=1");
}

TEST(ServiceUnitTest, SystemdFindsNoFaultInTheUnits) {
  if (::access("/usr/bin/systemd-analyze", X_OK) != 0) GTEST_SKIP() << "there is no systemd here";
  std::string pattern = ::testing::TempDir() + "units-XXXXXX";
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  // Installed, it is where the unit says.
  const std::string copy = "sed 's|^ExecStart=.*|ExecStart=/bin/true|' " + kUnit +
                           " >kuryr-daemon.service && cp " + test::SourceDir() +
                           "/etc/kuryr-daemon.socket . && systemd-analyze verify --man=no "
                           "./kuryr-daemon.service ./kuryr-daemon.socket";

  const ProcessResult result =
      RunProgram({.argv = {"sh", "-c", "cd " + folder.string() + " && " + copy}});
  std::filesystem::remove_all(folder);

  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace kuryr::test
