#include "tests/support/netns_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

#include "base/error.h"
#include "base/unique_fd.h"
#include "binding/netlink/route_socket.h"
#include "tests/support/subprocess.h"

namespace kuryr::test {
namespace {

void Unshare(int what) {
  if (::unshare(what) != 0) ThrowErrno("unshare (the label netns needs root)");
}

}  // namespace

void NetnsTest::SetUp() {
  outside_ = binding::Netns::Current();
  Unshare(CLONE_NEWNET | CLONE_NEWNS);
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    ThrowErrno("make the mounts private");
  if (::mount("run", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") != 0)
    ThrowErrno("mount a private /run");
  if (::mkdir("/run/netns", 0755) != 0) ThrowErrno("create /run/netns");
  binding::RouteSocket socket;
  socket.SetUp(socket.FindLink("lo").value());
}

void NetnsTest::TearDown() {
  if (!outside_) return;
  ::umount2("/run", MNT_DETACH);
  if (::setns(outside_->fd(), CLONE_NEWNET) != 0) ThrowErrno("leave the test's namespace");
}

std::string NetnsTest::MakePodNetnsPath() {
  const std::string path = "/run/netns/cni-" + std::to_string(++pods_);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
  if (!file) ThrowErrno("create " + path);
  const binding::NetnsGuard come_back(binding::Netns::Current());
  Unshare(CLONE_NEWNET);
  if (::mount("/proc/thread-self/ns/net", path.c_str(), nullptr, MS_BIND, nullptr) != 0)
    ThrowErrno("bind the namespace to " + path);
  return path;
}

void NetnsTest::RemovePodNetns(const std::string& path) {
  if (::umount2(path.c_str(), MNT_DETACH) != 0 || ::unlink(path.c_str()) != 0)
    ThrowErrno("remove " + path);
}

binding::Netns NetnsTest::MakePodNetns() { return binding::Netns::Open(MakePodNetnsPath()); }

std::string NetnsTest::RunIn(const binding::Netns& netns, const std::vector<std::string>& argv) {
  const binding::NetnsGuard guard(netns);
  return RunOnHost(argv);
}

std::string NetnsTest::RunOnHost(const std::vector<std::string>& argv) {
  const ProcessResult result = RunProgram({.argv = argv});
  EXPECT_EQ(result.status, 0) << argv.at(0) << ": " << result.err << result.out;
  return result.out;
}

bool NetnsTest::CanMakeVlans(const std::string& parent) {
  binding::RouteSocket host;
  try {
    host.CreateVlan({.name = "probe", .parent = host.FindLink(parent).value()}, 4094);
  } catch (const std::system_error&) {
    return false;
  }
  return host.DeleteLink("probe");
}

}  // namespace kuryr::test
