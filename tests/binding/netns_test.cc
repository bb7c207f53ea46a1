#include "binding/netns.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include <fstream>
#include <future>
#include <system_error>

#include "tests/support/netns_fixture.h"

namespace kuryr::binding {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Property;

class NetnsFileTest : public test::NetnsTest {
 protected:
  static void ExpectRefused(const std::string& path) {
    EXPECT_THAT([&] { (void)Netns::Open(path); },
                Throws<std::system_error>(
                    AllOf(Property(&std::system_error::code, std::errc::invalid_argument),
                          Property(&std::system_error::what, HasSubstr(path)))));
    EXPECT_EQ(Netns::OpenIfExists(path).has_value(), false) << path;
  }
};

/// The kernel's name for the calling thread's namespace: "net:[4026531840]".
std::string OwnName() {
  std::string name(64, '\0');
  const ssize_t size = ::readlink("/proc/thread-self/ns/net", name.data(), name.size());
  name.resize(static_cast<size_t>(size));
  return name;
}

std::string NameOf(const Netns& netns) { return "net:[" + std::to_string(netns.id().inode) + "]"; }

TEST_F(NetnsFileTest, OpenFindsTheNamespaceOfThePath) {
  const std::string path = MakePodNetnsPath();

  const Netns pod = Netns::Open(path);

  EXPECT_EQ(RunIn(pod, {"readlink", "/proc/self/ns/net"}), NameOf(pod) + "\n");
  EXPECT_EQ(pod.id(), Netns::Open(path).id());
  EXPECT_NE(pod.id(), Netns::Current().id());
  EXPECT_NE(pod.id(), MakePodNetns().id());
}

TEST_F(NetnsFileTest, DescriptorIsClosedOnExec) {
  const Netns pod = MakePodNetns();

  EXPECT_EQ(::fcntl(pod.fd(), F_GETFD), FD_CLOEXEC);
}

TEST_F(NetnsFileTest, OpenOfNothingIsAnErrorThatNamesThePath) {
  EXPECT_THAT([] { (void)Netns::Open("/run/netns/cni-gone"); },
              Throws<std::system_error>(
                  AllOf(Property(&std::system_error::code, std::errc::no_such_file_or_directory),
                        Property(&std::system_error::what, HasSubstr("/run/netns/cni-gone")))));
  EXPECT_NE(::access("/run/netns/cni-gone", F_OK), 0) << "Open created it";
}

TEST_F(NetnsFileTest, NothingThereIsNoNamespace) {
  EXPECT_EQ(Netns::OpenIfExists("/run/netns/cni-gone").has_value(), false);
  EXPECT_EQ(Netns::OpenIfExists("/run/missing/cni-gone").has_value(), false);
  EXPECT_EQ(Netns::OpenIfExists("/proc/999999999/ns/net").has_value(), false);
  EXPECT_EQ(Netns::OpenIfExists("/etc/passwd/cni-gone").has_value(), false);
}

TEST_F(NetnsFileTest, PlainFileIsRefused) {
  std::ofstream("/run/netns/plain") << "x";

  ExpectRefused("/run/netns/plain");
}

TEST_F(NetnsFileTest, DirectoryIsRefused) { ExpectRefused("/run/netns"); }

TEST_F(NetnsFileTest, FifoIsRefusedWithoutWaitingForAWriter) {
  ASSERT_EQ(::mkfifo("/run/netns/fifo", 0600), 0);

  ExpectRefused("/run/netns/fifo");
}

TEST_F(NetnsFileTest, DeviceIsRefused) { ExpectRefused("/dev/null"); }

TEST_F(NetnsFileTest, MountNamespaceIsRefused) { ExpectRefused("/proc/self/ns/mnt"); }

TEST_F(NetnsFileTest, UnmountedNamespaceIsGone) {
  const std::string path = MakePodNetnsPath();

  ASSERT_EQ(::umount2(path.c_str(), MNT_DETACH), 0);

  ExpectRefused(path);
}

TEST_F(NetnsFileTest, OpenNamespaceOutlivesItsPath) {
  const std::string path = MakePodNetnsPath();
  const Netns pod = Netns::Open(path);

  ASSERT_EQ(::umount2(path.c_str(), MNT_DETACH), 0);

  EXPECT_EQ(RunIn(pod, {"readlink", "/proc/self/ns/net"}), NameOf(pod) + "\n");
}

TEST_F(NetnsFileTest, DescriptorFromElsewhereIsChecked) {
  const std::string path = MakePodNetnsPath();

  const Netns pod = Netns::FromFd(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));

  EXPECT_EQ(pod.id(), Netns::Open(path).id());
  EXPECT_THROW((void)Netns::FromFd(UniqueFd(::open("/dev/null", O_RDONLY))), std::system_error);
}

TEST_F(NetnsFileTest, GuardEntersAndReturns) {
  const Netns pod = MakePodNetns();
  const std::string before = OwnName();

  {
    const NetnsGuard guard(pod);
    EXPECT_EQ(OwnName(), NameOf(pod));
  }

  EXPECT_EQ(OwnName(), before);
}

TEST_F(NetnsFileTest, GuardReturnsWhenAnExceptionPasses) {
  const Netns pod = MakePodNetns();
  const std::string before = OwnName();

  EXPECT_ANY_THROW({
    const NetnsGuard guard(pod);
    throw std::runtime_error("in the pod");
  });

  EXPECT_EQ(OwnName(), before);
}

TEST_F(NetnsFileTest, GuardMovesItsOwnThreadOnly) {
  const Netns pod = MakePodNetns();
  const std::string host = OwnName();
  std::promise<void> entered;
  std::promise<void> looked;

  auto visitor = std::async(std::launch::async, [&] {
    const NetnsGuard guard(pod);
    entered.set_value();
    looked.get_future().wait();
    return OwnName();
  });
  entered.get_future().wait();
  const std::string meanwhile = OwnName();
  looked.set_value();

  EXPECT_EQ(meanwhile, host);
  EXPECT_EQ(visitor.get(), NameOf(pod));
}

}  // namespace
}  // namespace kuryr::binding
