#include "binding/drivers/drivers.h"

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.h"
#include "binding/drivers/binding.h"
#include "tests/binding/drivers/vhostuser_fixture.h"

namespace kuryr::binding {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class VhostUserDpdkTest : public VhostUserDriverTest {
 protected:
  void SetUp() override {
    VhostUserDriverTest::SetUp();
    ovs_->StopVswitchd();
    try {
      if (!ovs_->StartVswitchdWithDpdk())
        GTEST_SKIP() << "openvswitch-switch-dpdk is not installed";
    } catch (const std::system_error& e) {
      GTEST_SKIP() << "DPDK does not start on this machine: " << e.what();
    }
  }
};

/// A program that a pod with DPDK may run: a switch of its own between its socket, which it finds
/// as the file says, and a network device with an address.
class Application {
 public:
  Application(const Netns& pod, const std::string& file, const std::string& address)
      : guard_(pod), ovs_("/run") {
    const nlohmann::json config = ParseJson(ReadFile(file));
    const std::string mac = config.at("vhostmac");
    std::string device =
        "net_virtio_user0,path=" + (fs::path(kMountPoint) / config.at("vhostname")).string() +
        ",mac=" + mac;
    if (config.at("mode") == "server") device += ",server=1";
    ovs_.StopVswitchd();
    ovs_.StartVswitchdWithDpdk();
    ovs_.Vsctl({"add-br", "pod", "--", "set", "Bridge", "pod", "datapath_type=netdev",
                "other_config:hwaddr=\"" + mac + "\"", "--", "add-port", "pod", "vhost", "--",
                "set", "Interface", "vhost", "type=dpdk",
                "options:dpdk-devargs=\"" + device + "\""});
    for (const auto& argv :
         {std::vector<std::string>{"ip", "address", "add", address, "dev", "pod"},
          std::vector<std::string>{"ip", "link", "set", "pod", "up"}})
      EXPECT_EQ(test::RunProgram({.argv = argv}).status, 0);
  }

 private:
  NetnsGuard guard_;
  test::PrivateOvs ovs_;
};

TEST_F(VhostUserDpdkTest, PacketsFlowBetweenAClientAndAServer) {
  const vif::VifVHostUser client = Vif(vif::VHostUserMode::kClient);
  vif::VifVHostUser server = test::VhostUserVif(2, vif::VHostUserMode::kServer);
  server.vif_name = std::string("vhu-other");
  server.path = kMountPoint + std::string("/vhu-other");
  const Netns other = MakePodNetns();
  Connect(client);
  driver_->Connect({driver_->Plan({"eth0", true, server}), PodAttachment(2), other, Soon()});

  const Application one(*pod_, FileOf(1), "10.1.0.1/24");
  const Application two(other, FileOf(2), "10.1.0.2/24");

  RunIn(*pod_, {"ping", "-c1", "-W20", "-Mdo", "-s1422", "10.1.0.2"});
  EXPECT_THAT(RunIn(*pod_, {"ip", "neighbour"}), HasSubstr("fa:16:3e:80:d4:02"));
}

TEST_F(VhostUserDpdkTest, ClientFindsTheSwitchsSocketInTheMountPoint) {
  const vif::VifVHostUser vif = Vif(vif::VHostUserMode::kClient);

  EXPECT_THAT(Connect(vif), ::testing::ElementsAre(Interface{
                                .name = "eth0", .mac = *vif.address, .mtu = 1450, .in_pod = true}));

  EXPECT_EQ(Get("type"), "dpdkvhostuser");
  EXPECT_EQ(Get("ofport"), "1");
  EXPECT_EQ(Get("mtu_request"), "1450");
  EXPECT_EQ(Vsctl({"get", "Bridge", "br-int", "datapath_type"}), "netdev");
  EXPECT_EQ(ParseJson(ReadFile(FileOf(1))), (nlohmann::json{{"vhostname", kNeutronPort},
                                                            {"vhostmac", "fa:16:3e:80:d4:01"},
                                                            {"mode", "client"}}));
  EXPECT_EQ(fs::status(FileOf(1)).permissions(), fs::perms(0644));
  EXPECT_NO_THROW(ConnectTo(SocketPath())) << "ovs-vswitchd still listens";
  EXPECT_FALSE(fs::exists(ovs_->folder() / kNeutronPort));
  EXPECT_EQ(Check(vif), std::nullopt);
}

TEST_F(VhostUserDpdkTest, ServersSocketIsTheApplications) {
  const vif::VifVHostUser vif = Vif(vif::VHostUserMode::kServer);

  Connect(vif);

  EXPECT_EQ(Get("type"), "dpdkvhostuserclient");
  EXPECT_EQ(Get("options:vhost-server-path"), "\"" + fs::path(SocketPath()).string() + "\"");
  EXPECT_EQ(Get("ofport"), "1");
  EXPECT_EQ(ParseJson(ReadFile(FileOf(1))).at("mode"), "server");
  EXPECT_EQ(Check(vif), std::nullopt);
  const UniqueFd application = ListenAt(SocketPath());
  EXPECT_TRUE(UniqueFd(::accept(application.get(), nullptr, nullptr))) << "ovs-vswitchd connects";
}

TEST_F(VhostUserDpdkTest, DisconnectRemovesAllAndMayBeRepeated) {
  for (const auto mode : {vif::VHostUserMode::kClient, vif::VHostUserMode::kServer}) {
    Connect(Vif(mode));
    Disconnect(Vif(mode));
    const std::string before = State();
    Connect(Vif(mode));
    const UniqueFd application =
        mode == vif::VHostUserMode::kServer ? ListenAt(SocketPath()) : UniqueFd();

    Disconnect(Vif(mode));
    EXPECT_EQ(State(), before);
    Disconnect(Vif(mode));
    EXPECT_EQ(State(), before);
  }
}

TEST_F(VhostUserDpdkTest, OlderSandboxOfTheSamePodIsReplaced) {
  const vif::VifVHostUser vif = Vif(vif::VHostUserMode::kClient);
  Attachment older = PodAttachment(1);
  older.container_id = "older";
  Connect(vif, older);

  Connect(vif);
  Disconnect(vif, older);

  EXPECT_FALSE(fs::exists(fs::path(kMountPoint) / "older-eth0"));
  EXPECT_EQ(Check(vif), std::nullopt) << "after the late DEL of the older sandbox";
  EXPECT_NO_THROW(ConnectTo(SocketPath()));
}

TEST_F(VhostUserDpdkTest, SecondVifOfThePodWithTheSameNameIsRefused) {
  const vif::VifVHostUser vif = Vif(vif::VHostUserMode::kClient);
  Connect(vif);

  EXPECT_THROW(
      driver_->Connect({driver_->Plan({"eth1", false, vif}), PodAttachment(1), *pod_, Soon()}),
      HostInterfaceInUse);

  EXPECT_EQ(Check(vif), std::nullopt);
}

TEST_F(VhostUserDpdkTest, SocketOfAServerThatIsGoneIsRemoved) {
  {
    const UniqueFd gone = ListenAt(SocketPath());
  }

  Connect(Vif(vif::VHostUserMode::kServer));

  EXPECT_FALSE(fs::exists(SocketPath()));
}

TEST_F(VhostUserDpdkTest, FileThatAPodLaidOutIsReplacedAndNotFollowed) {
  std::ofstream("/run/victim") << "untouched";
  for (const std::string& name : {FileOf(1), std::string(kMountPoint) + "/.container-1-eth0.new"})
    fs::create_symlink("/run/victim", name);

  Connect(Vif(vif::VHostUserMode::kClient));

  EXPECT_EQ(ReadFile("/run/victim"), "untouched");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(FileOf(1))));
}

/// Things that a pod may lay in the place of another pod's socket.
std::vector<std::function<void()>> Obstacles(const fs::path& path) {
  return {[path] { fs::create_symlink("/run/elsewhere", path); },
          [path] { fs::create_symlink("/run/nowhere", path); },
          [path] { fs::create_directory(path); }, [path] { fs::create_directories(path / "full"); },
          [path] { std::ofstream(path) << "text"; }};
}

TEST_F(VhostUserDpdkTest, WhatAPodLaidInASocketsPlaceKeepsNobodyFromItsPort) {
  const UniqueFd elsewhere = ListenAt("/run/elsewhere");
  for (const auto& lay : Obstacles(SocketPath())) {
    for (const auto mode : {vif::VHostUserMode::kClient, vif::VHostUserMode::kServer}) {
      lay();

      Connect(Vif(mode));

      const bool is_there = fs::exists(fs::symlink_status(SocketPath()));
      EXPECT_EQ(is_there, mode == vif::VHostUserMode::kClient) << "the switch makes it";
      EXPECT_TRUE(!is_there || fs::is_socket(fs::symlink_status(SocketPath())));
      Disconnect(Vif(mode));
      EXPECT_FALSE(fs::exists(fs::symlink_status(SocketPath())));
    }
  }
  EXPECT_TRUE(fs::is_socket("/run/elsewhere"));
  EXPECT_FALSE(fs::exists("/run/nowhere"));
}

TEST_F(VhostUserDpdkTest, RunDirectoryThatIsNotTheSwitchsIsNamed) {
  BindingConfig config = Config();
  config.ovs_vhu_path = "/run";
  driver_ = NewVhostUserDriver({config, shared_});

  EXPECT_THAT(Failure(Vif(vif::VHostUserMode::kClient)),
              AllOf(HasSubstr("/run/" + std::string(kNeutronPort)), HasSubstr("ovs_vhu_path")));

  EXPECT_EQ(Vsctl({"--columns=name", "find", "Interface", Name()}), "");
  EXPECT_TRUE(fs::is_empty(kMountPoint));
  OpenVSwitch(ovs_->remote()).WaitUntilApplied(Soon());
  EXPECT_FALSE(fs::exists(ovs_->folder() / kNeutronPort)) << "ovs-vswitchd takes it along";
}

TEST_F(VhostUserDpdkTest, FoldersOnTwoFileSystemsAreNamed) {
  ASSERT_EQ(::mount("tmpfs", kMountPoint, "tmpfs", 0, ""), 0);

  EXPECT_THAT(Failure(Vif(vif::VHostUserMode::kClient)), HasSubstr("another file system"));

  EXPECT_TRUE(fs::is_empty(kMountPoint));
}

TEST_F(VhostUserDpdkTest, CheckNamesTheFirstDifference) {
  const vif::VifVHostUser vif = Vif(vif::VHostUserMode::kClient);
  Connect(vif);
  fs::remove(SocketPath());
  EXPECT_THAT(Check(vif).value(), HasSubstr(std::string(kNeutronPort) + " is missing"));
  std::ofstream(FileOf(1)) << "{}";
  EXPECT_THAT(Check(vif).value(), HasSubstr("container-1-eth0 has other contents"));
  fs::remove(FileOf(1));
  EXPECT_THAT(Check(vif).value(), HasSubstr("container-1-eth0 is missing"));
  Vsctl({"del-port", kNeutronPort});
  EXPECT_THAT(Check(vif).value(), HasSubstr("Open vSwitch port " + std::string(kNeutronPort)));
}

TEST_F(VhostUserDpdkTest, RestartOfTheSwitchLeavesAClientsSocketDead) {
  const vif::VifVHostUser vif = Vif(vif::VHostUserMode::kClient);
  Connect(vif);

  ovs_->StopVswitchd();
  ovs_->StartVswitchdWithDpdk();

  EXPECT_THAT(Check(vif).value(), HasSubstr("ovs-vswitchd was restarted"));
  EXPECT_THROW(ConnectTo(SocketPath()), std::system_error);
}

TEST_F(VhostUserDpdkTest, FindPlugsGivesWhatTheRecordSaid) {
  const vif::VifVHostUser vif = Vif(vif::VHostUserMode::kClient);
  Connect(vif);

  Binding binding(Config());
  EXPECT_THAT(binding.FindPlugs(PodAttachment(1), Soon()),
              ::testing::ElementsAre(driver_->Plan({"eth0", true, vif}).plug));
  EXPECT_THAT(binding.FindPlugs(PodAttachment(2), Soon()), IsEmpty());
}

TEST_F(VhostUserDriverTest, SwitchWithoutDpdkIsSaidAndNothingLeft) {
  const std::string before = State();
  for (const auto mode : {vif::VHostUserMode::kClient, vif::VHostUserMode::kServer})
    EXPECT_THAT(Failure(Vif(mode)),
                HasSubstr("ovs-vswitchd, interface " + std::string(kNeutronPort)));

  EXPECT_EQ(State(), before);
}

TEST_F(VhostUserDriverTest, RowsAreWhatOvsVifWrites) {
  ovs_->StopVswitchd();
  // In ovs-vswitchd's place, as it would answer without a socket.
  const std::jthread meanwhile([&] {
    Vsctl({"wait-until", "Interface", kNeutronPort, "type=dpdkvhostuserclient"});
    EXPECT_EQ(Get("mtu_request"), "1450");
    EXPECT_EQ(Get("external_ids:iface-id"), "\"450e5c61-dc7c-5f0d-84da-bc7052e8b541\"");
    EXPECT_EQ(Get("external_ids:attached-mac"), "\"fa:16:3e:80:d4:01\"");
    EXPECT_EQ(Vsctl({"get", "Port", kNeutronPort, "qos"}), "[]");
    EXPECT_EQ(Vsctl({"get", "Bridge", "br-int", "datapath_type"}), "netdev");
    Vsctl({"set", "Interface", kNeutronPort, "ofport=7"});
    const std::string wanted = Vsctl({"get", "Open_vSwitch", ".", "next_cfg"});
    Vsctl({"set", "Open_vSwitch", ".", "cur_cfg=" + wanted});
  });

  Connect(Vif(vif::VHostUserMode::kServer));
}

TEST_F(VhostUserDriverTest, SilentSwitchEndsWithTheDeadlineAndLeavesNothing) {
  const std::string before = State();
  ovs_->StopVswitchd();
  const vif::VifVHostUser vif = Vif(vif::VHostUserMode::kClient);

  try {
    driver_->Connect({driver_->Plan({"eth0", true, vif}), PodAttachment(1), *pod_,
                      Deadline::After(std::chrono::milliseconds(300))});
    ADD_FAILURE() << "connected";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::timed_out) << e.what();
  }

  EXPECT_EQ(State(), before);
}

TEST_F(VhostUserDriverTest, WithoutOvsNothingIsTouched) {
  BindingConfig config = Config();
  config.ovsdb_wait = {};
  driver_ = NewVhostUserDriver({config, shared_});
  ovs_->StopServer();

  EXPECT_THROW(Connect(Vif(vif::VHostUserMode::kClient)), std::system_error);

  EXPECT_TRUE(fs::is_empty(kMountPoint));
}

TEST_F(VhostUserDriverTest, DisconnectWithoutOvsKeepsTheSocketForTheNextOne) {
  std::optional<UniqueFd> application = ListenAt(SocketPath());
  std::ofstream(FileOf(1)) << "{}";
  ovs_->StopServer();
  const vif::VifVHostUser vif = Vif(vif::VHostUserMode::kServer);

  EXPECT_THROW(Disconnect(vif), std::system_error);
  EXPECT_FALSE(fs::exists(FileOf(1)));
  EXPECT_TRUE(fs::exists(SocketPath())) << "whose it is, only the database knows";
  ovs_->StartServer();
  Disconnect(vif);
  EXPECT_TRUE(fs::exists(SocketPath())) << "somebody listens, and no port has the name";
  application.reset();
  Disconnect(vif);

  EXPECT_TRUE(fs::is_empty(kMountPoint));
}

TEST_F(VhostUserDriverTest, DirectoriesInTheFilesPlaceDoNotKeepDisconnectFromItsWork) {
  const std::string successor = std::string(kMountPoint) + "/.container-1-eth0.new";
  fs::create_directories(FileOf(1) + "/full");
  fs::create_directory(successor);

  EXPECT_NO_THROW(Disconnect(Vif(vif::VHostUserMode::kServer)));

  EXPECT_TRUE(fs::exists(FileOf(1) + "/full")) << "not ours";
  EXPECT_FALSE(fs::exists(successor));
}

TEST_F(VhostUserDriverTest, MissingAndReadOnlyMountPointsAreNamed) {
  const std::string before = State();
  const vif::VifVHostUser vif = Vif(vif::VHostUserMode::kServer);
  ASSERT_EQ(::mount("tmpfs", kMountPoint, "tmpfs", MS_RDONLY, ""), 0);
  EXPECT_THAT(Failure(vif), HasSubstr("Read-only file system"));
  ASSERT_EQ(::umount(kMountPoint), 0);
  EXPECT_EQ(State(), before);

  fs::remove(kMountPoint);
  EXPECT_THAT(Failure(vif), AllOf(HasSubstr(kMountPoint), HasSubstr("[vhostuser] mount_point")));
  EXPECT_NO_THROW(Disconnect(vif));
}

}  // namespace
}  // namespace kuryr::binding
