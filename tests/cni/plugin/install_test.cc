#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

// kuryr-cni install, on a node that is a folder.

namespace kuryr::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::string TextOf(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The first is Debian's own, but for conf_dir.
constexpr std::array kContainerdConfigs = {
    "version = 2\n[plugins]\n  [plugins.\"io.containerd.grpc.v1.cri\"]\n"
    "    [plugins.\"io.containerd.grpc.v1.cri\".cni]\n"
    "      bin_dir = \"/usr/lib/cni\"\n      conf_dir = \"/etc/own/net.d\"\n"
    "  [plugins.\"io.containerd.internal.v1.opt\"]\n    path = \"/var/lib/containerd/opt\"\n",
    "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.cni]\n"
    "bin_dirs = ['/usr/lib/cni', '/opt/cni/bin']\nconf_dir = '/etc/own/net.d'\n",
    "[plugins.cri.cni]\nbin_dir = \"/usr/lib/cni\"\nconf_dir = \"/etc/own/net.d\"\n"};

class InstallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(host_);
    std::ofstream(work_ / "kuryr.conf") << "[kubernetes]\n";
    std::ofstream(work_ / "20-net.conflist") << "{}\n";
  }
  void TearDown() override { fs::remove_all(work_); }

  [[nodiscard]] std::vector<std::string> InstallCommand() const {
    return {test::BinDir() + "/kuryr-cni", "--config-file=" + (work_ / "kuryr.conf").string(),
            "install", "--host=" + host_.string(),
            "--conflist=" + (work_ / "20-net.conflist").string()};
  }
  [[nodiscard]] ProcessResult Install(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> argv = InstallCommand();
    argv.insert(argv.end(), more.begin(), more.end());
    return RunProgram({.argv = argv});
  }
  /// The mode of every file below the host's root.
  [[nodiscard]] std::map<std::string, int> Modes() const {
    std::map<std::string, int> modes;
    for (const auto& entry : fs::recursive_directory_iterator(host_)) {
      if (entry.is_regular_file())
        modes[fs::relative(entry.path(), host_)] = static_cast<int>(entry.status().permissions());
    }
    return modes;
  }

  void WriteFile(const fs::path& file, const std::string& text) const {
    fs::create_directories((host_ / file).parent_path());
    std::ofstream(host_ / file) << text;
  }
  /// A plugin of the node that answers VERSION.
  void WritePlugin(const std::string& name, const std::string& answer) const {
    WriteFile("opt/cni/bin/" + name, "#!/bin/sh\necho '" + answer + "'\n");
    fs::permissions(host_ / "opt/cni/bin" / name, fs::perms::owner_all);
  }
  void WriteList(const std::string& text) const {
    std::ofstream(work_ / "20-net.conflist") << text;
  }
  [[nodiscard]] nlohmann::json List() const {
    return nlohmann::json::parse(TextOf(host_ / "etc/cni/net.d/20-net.conflist"));
  }

  const fs::path work_ = [] {
    std::string name = fs::temp_directory_path() / "install-XXXXXX";
    return fs::path(::mkdtemp(name.data()));
  }();
  const fs::path host_ = work_ / "host";
};

TEST_F(InstallTest, ANodeGetsTheProgramItsConfigurationAndItsNetwork) {
  const ProcessResult result = Install();
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(Modes(), UnorderedElementsAre(Pair("opt/cni/bin/kuryr-cni", 0755),
                                            Pair("etc/kuryr/kuryr.conf", 0600),
                                            Pair("etc/cni/net.d/20-net.conflist", 0644)));
  const std::string installed = host_ / "opt/cni/bin/kuryr-cni";
  EXPECT_EQ(RunProgram({.argv = {"cmp", installed, test::BinDir() + "/kuryr-cni"}}).out, "");
  EXPECT_EQ(TextOf(host_ / "etc/kuryr/kuryr.conf"), "[kubernetes]\n");
  EXPECT_EQ(TextOf(host_ / "etc/cni/net.d/20-net.conflist"), "{}\n");
  EXPECT_EQ(fs::status(host_ / "run/kuryr").permissions(), fs::perms::owner_all);
}

TEST_F(InstallTest, ANodesConfigurationHasTheDropInsToo) {
  fs::create_directory(work_ / "kuryr.conf.d");
  std::ofstream(work_ / "kuryr.conf.d/2-own.conf") << "[cni_daemon]\nagent_wait = 30\n";
  std::ofstream(work_ / "kuryr.conf.d/1-more.conf") << "[cni_daemon]\nagent_wait = 20";

  const ProcessResult result = Install();

  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(TextOf(host_ / "etc/kuryr/kuryr.conf"),
            "[kubernetes]\n\n[cni_daemon]\nagent_wait = 20\n[cni_daemon]\nagent_wait = 30\n");
}

TEST_F(InstallTest, TheNetworkThatMakesTheNodeReadyComesLast) {
  const ProcessResult result = Install();
  const std::vector<std::string> files = {"opt/cni/bin/kuryr-cni", "etc/kuryr/kuryr.conf",
                                          "etc/cni/net.d/20-net.conflist"};
  std::string said;
  for (const std::string& file : files) said += "installed " + (host_ / file).string() + "\n";
  EXPECT_EQ(result.out, said) << result.err;
}

TEST_F(InstallTest, PortmapIsInTheNetworkOfANodeThatHasIt) {
  const fs::path network = host_ / "etc/cni/net.d/20-net.conflist";
  const std::string alone =
      R"({"name":"kuryr","plugins":[{"type":"kuryr-cni","capabilities":{}}]})";
  std::ofstream(work_ / "20-net.conflist") << alone;
  ASSERT_EQ(Install().status, 0);
  EXPECT_EQ(TextOf(network), alone);

  fs::create_directories(host_ / "opt/cni/bin");
  std::ofstream(host_ / "opt/cni/bin/portmap") << "";
  ASSERT_EQ(Install().status, 0);
  EXPECT_EQ(nlohmann::json::parse(TextOf(network)),
            nlohmann::json::parse(R"({"name":"kuryr","plugins":[
    {"type":"kuryr-cni","capabilities":{}},
    {"type":"portmap","snat":true,"capabilities":{"portMappings":true}}]})"));

  ASSERT_EQ(Install({"--no-portmap"}).status, 0);
  EXPECT_EQ(TextOf(network), alone);
}

TEST_F(InstallTest, AListWithOtherPluginsIsTheOperatorsOwn) {
  fs::create_directories(host_ / "opt/cni/bin");
  std::ofstream(host_ / "opt/cni/bin/portmap") << "";
  for (const char* list : {R"({"plugins":[{"type":"kuryr-cni"},{"type":"tuning"}]})",
                           R"({"plugins":{}})", R"([])", "no JSON"}) {
    std::ofstream(work_ / "20-net.conflist") << list;
    ASSERT_EQ(Install().status, 0);
    EXPECT_EQ(TextOf(host_ / "etc/cni/net.d/20-net.conflist"), list);
  }
}

TEST_F(InstallTest, ItOffersOnlyTheVersionsThatAllPluginsOfTheListKnow) {
  WritePlugin("portmap", R"({"supportedVersions":["0.3.1","0.4.0","1.0.0"]})");
  WriteList(
      R"({"cniVersion":"1.0.0","cniVersions":["0.3.1","0.4.0","1.0.0","1.1.0"],"name":"kuryr",)"
      R"("plugins":[{"type":"kuryr-cni"}]})");

  ASSERT_EQ(Install().status, 0);
  EXPECT_EQ(List()["cniVersions"], nlohmann::json({"0.3.1", "0.4.0", "1.0.0"}));
  EXPECT_EQ(List()["cniVersion"], "1.0.0");

  WritePlugin("portmap", R"({"supportedVersions":["0.3.1","0.4.0","1.0.0","1.1.0"]})");
  ASSERT_EQ(Install().status, 0);
  EXPECT_EQ(List()["cniVersions"].size(), 4U);
}

TEST_F(InstallTest, APluginThatCannotBeAskedIsTakenToKnow100) {
  WriteList(R"({"cniVersions":["1.0.0","1.1.0"],"name":"kuryr",)"
            R"("plugins":[{"type":"kuryr-cni"},{"type":"tuning"}]})");
  ASSERT_EQ(Install().status, 0);
  EXPECT_EQ(List()["cniVersions"], nlohmann::json({"1.0.0"}));
  WritePlugin("tuning", "no answer");
  ASSERT_EQ(Install().status, 0);
  EXPECT_EQ(List()["cniVersions"], nlohmann::json({"1.0.0"}));
}

TEST_F(InstallTest, AVersionThatAnIpamPluginDoesNotKnowIsNotOffered) {
  WritePlugin("host-local", R"({"supportedVersions":["0.4.0","1.0.0"]})");
  WriteList(R"({"cniVersion":"1.1.0","name":"kuryr",)"
            R"("plugins":[{"type":"kuryr-cni","ipam":{"type":"host-local"}}]})");
  ASSERT_EQ(Install({"--no-portmap"}).status, 0);
  EXPECT_EQ(List()["cniVersion"], "1.0.0");
}

TEST_F(InstallTest, TheFolderThatContainerdReadsGetsTheProgram) {
  for (const char* config : kContainerdConfigs) {
    fs::remove_all(host_);
    WriteFile("etc/containerd/config.toml", config);

    const ProcessResult result = Install();

    ASSERT_EQ(result.status, 0) << result.err;
    for (const char* program : {"opt/cni/bin/kuryr-cni", "usr/lib/cni/kuryr-cni"})
      EXPECT_TRUE(fs::exists(host_ / program)) << program << config << result.out;
    EXPECT_TRUE(fs::exists(host_ / "etc/own/net.d/20-net.conflist")) << config << result.out;
  }
}

TEST_F(InstallTest, WhatContainerdsConfigurationImportsCounts) {
  WriteFile("etc/containerd/config.toml", "version = 2\nimports = [\"conf.d/*.toml\"]\n");
  WriteFile("etc/containerd/conf.d/cni.toml",
            "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = \"/opt/other\"\n");
  ASSERT_EQ(Install().status, 0);
  EXPECT_TRUE(fs::exists(host_ / "opt/other/kuryr-cni"));
}

TEST_F(InstallTest, TheFoldersOfCrioAreThoseOfItsLastFile) {
  WriteFile("etc/crio/crio.conf", "[crio.network]\nplugin_dirs = [\"/opt/one\", \"/opt/two\"]\n");
  WriteFile("etc/crio/crio.conf.d/10-net.conf",
            "[crio.network]\nnetwork_dir = \"/etc/own/net.d\"\n");
  ASSERT_EQ(Install().status, 0);
  EXPECT_TRUE(fs::exists(host_ / "opt/one/kuryr-cni"));
  EXPECT_FALSE(fs::exists(host_ / "opt/two/kuryr-cni"));
  EXPECT_TRUE(fs::exists(host_ / "etc/own/net.d/20-net.conflist"));
}

TEST_F(InstallTest, ARuntimesFolderThatIsNotMountedIsNamed) {
  WriteFile("etc/containerd/config.toml", kContainerdConfigs.front());
  for (const char* folder : {"opt/cni/bin", "etc/own", "usr/lib"})
    fs::create_directories(host_ / folder);
  // As in the DaemonSet's container.
  const std::string mounts =
      "mount -t tmpfs tmpfs \"$0/opt/cni/bin\"; mount -t tmpfs tmpfs "
      "\"$0/etc/own\"; exec \"$@\"";
  std::vector<std::string> argv = {"unshare", "--mount", "sh", "-ec", mounts, host_.string()};
  const std::vector<std::string> install = InstallCommand();
  argv.insert(argv.end(), install.begin(), install.end());

  const ProcessResult result = RunProgram({.argv = argv});

  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("not installed in /usr/lib/cni, where containerd looks "
                              "(/etc/containerd/config.toml)"),
                    HasSubstr("installed " + (host_ / "opt/cni/bin/kuryr-cni").string()),
                    HasSubstr("installed " + (host_ / "etc/own/net.d/20-net.conflist").string())));
  EXPECT_FALSE(fs::exists(host_ / "usr/lib/cni"));
}

TEST_F(InstallTest, ARuntimesFileThatCannotBeReadIsNamedAndItsDefaultsAreTaken) {
  WriteFile("etc/containerd/config.toml", "version = \n");
  const ProcessResult result = Install();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("config.toml: line 1"));
  EXPECT_TRUE(fs::exists(host_ / "etc/cni/net.d/20-net.conflist"));
}

TEST_F(InstallTest, ARuntimesOwnFoldersAreTaken) {
  ASSERT_EQ(Install({"--cni-bin-dir=/usr/libexec/cni", "--cni-conf-dir=/var/cni/net.d"}).status, 0);
  EXPECT_TRUE(fs::exists(host_ / "usr/libexec/cni/kuryr-cni"));
  EXPECT_TRUE(fs::exists(host_ / "var/cni/net.d/20-net.conflist"));
}

TEST_F(InstallTest, AProgramThatIsBeingExecutedIsReplaced) {
  ASSERT_EQ(Install().status, 0);
  struct stat first = {};
  ASSERT_EQ(::stat((host_ / "opt/cni/bin/kuryr-cni").c_str(), &first), 0);
  // The installed program installs itself: it is executed while its file gets a successor.
  const ProcessResult again = RunProgram(
      {.argv = {host_ / "opt/cni/bin/kuryr-cni", "--config-file=" + (work_ / "kuryr.conf").string(),
                "install", "--host=" + host_.string(),
                "--conflist=" + (work_ / "20-net.conflist").string()}});
  ASSERT_EQ(again.status, 0) << again.err;
  struct stat second = {};
  ASSERT_EQ(::stat((host_ / "opt/cni/bin/kuryr-cni").c_str(), &second), 0);
  EXPECT_NE(first.st_ino, second.st_ino);
}

TEST_F(InstallTest, WhatAKilledInstallationLeftIsReplaced) {
  fs::create_directories(host_ / "etc/kuryr");
  std::ofstream(host_ / "etc/kuryr/.kuryr.conf.new") << "half, and longer than the whole";
  ASSERT_EQ(Install().status, 0);
  EXPECT_EQ(TextOf(host_ / "etc/kuryr/kuryr.conf"), "[kubernetes]\n");
  EXPECT_FALSE(fs::exists(host_ / "etc/kuryr/.kuryr.conf.new"));
}

TEST_F(InstallTest, WhatSomebodyLaidInAFilesPlaceIsReplacedAndNotFollowed) {
  for (const char* folder : {"etc/kuryr", "etc/cni/net.d", "opt/cni/bin"})
    fs::create_directories(host_ / folder);
  std::ofstream(work_ / "shadow") << "secret";
  ASSERT_EQ(::mkfifo((host_ / "opt/cni/bin/.kuryr-cni.new").c_str(), 0666), 0);
  fs::create_hard_link(work_ / "shadow", host_ / "etc/kuryr/.kuryr.conf.new");
  fs::create_symlink(work_ / "nowhere", host_ / "etc/cni/net.d/.20-net.conflist.new");

  const ProcessResult result = Install();

  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(Modes().size(), 3U);
  EXPECT_EQ(TextOf(host_ / "etc/kuryr/kuryr.conf"), "[kubernetes]\n");
  EXPECT_EQ(TextOf(work_ / "shadow"), "secret");
  EXPECT_FALSE(fs::exists(work_ / "nowhere"));
}

TEST_F(InstallTest, AMissingNetworkChangesNothingOnTheNode) {
  fs::remove(work_ / "20-net.conflist");
  const ProcessResult result = Install();
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("20-net.conflist"), HasSubstr("No such file")));
  EXPECT_TRUE(fs::is_empty(host_));
}

TEST_F(InstallTest, ADryRunWritesNothingAndTellsWhatWouldBeReplaced) {
  WriteFile("etc/kuryr/kuryr.conf", "[ovn]\n");
  const ProcessResult result = Install({"--dry-run"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "would install " + (host_ / "opt/cni/bin/kuryr-cni").string() +
                            "\nwould replace " + (host_ / "etc/kuryr/kuryr.conf").string() +
                            "\nwould install " +
                            (host_ / "etc/cni/net.d/20-net.conflist").string() + "\n");
  EXPECT_THAT(Modes(), ElementsAre(Pair("etc/kuryr/kuryr.conf", ::testing::_)));
  EXPECT_FALSE(fs::exists(host_ / "run"));
}

TEST_F(InstallTest, ANodesOwnConfigurationStaysWithItsDropIns) {
  WriteFile("etc/kuryr/kuryr.conf", "[kubernetes]\n");
  WriteFile("etc/kuryr/kuryr.conf.d/1-own.conf", "[cni_daemon]\nagent_wait = 30\n");
  std::vector<std::string> argv = InstallCommand();
  argv[1] = "--config-file=" + (host_ / "etc/kuryr/kuryr.conf").string();
  const ProcessResult result = RunProgram({.argv = argv});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("kuryr.conf")));
  EXPECT_EQ(TextOf(host_ / "etc/kuryr/kuryr.conf"), "[kubernetes]\n");
}

/// On this machine, with folders of its own.
class InstallHereTest : public InstallTest {
 protected:
  void SetUp() override {
    if (fs::exists("/host")) GTEST_SKIP() << "SKIPPED: this machine has /host";
    InstallTest::SetUp();
  }
  /// Runs `before`, the installation without --host, then `after`.
  [[nodiscard]] ProcessResult Here(const std::string& before, const std::string& after) const {
    const std::string script =
        "for d in /etc /opt /run; do mount -t tmpfs tmpfs $d; done; mkdir -p /etc/cni/net.d; " +
        before + "\"$@\" || echo status $?; " + after;
    std::vector<std::string> argv = {"unshare", "--mount", "sh", "-uc", script, "sh"};
    for (const std::string& word : InstallCommand())
      if (!word.starts_with("--host=")) argv.push_back(word);
    return RunProgram({.argv = argv});
  }
};

TEST_F(InstallHereTest, AMachineWithoutANetworkGetsOne) {
  EXPECT_THAT(Here("", "ls /etc/cni/net.d /opt/cni/bin").out,
              AllOf(HasSubstr("installed /etc/cni/net.d/20-net.conflist\n"),
                    HasSubstr("/etc/cni/net.d:\n20-net.conflist\n"), HasSubstr("\nkuryr-cni\n")));
}

TEST_F(InstallHereTest, AMachineThatHasAnotherNetworkIsLeftAloneUnlessItIsNamed) {
  const std::string other = "touch /etc/cni/net.d/87-podman.conflist; ";
  const ProcessResult result = Here(other, "ls /etc/cni/net.d /opt");
  EXPECT_THAT(result.err, AllOf(HasSubstr("nothing is installed: "), HasSubstr("--host / installs"),
                                HasSubstr("/etc/cni/net.d/87-podman.conflist")));
  EXPECT_EQ(result.out, "status 2\n/etc/cni/net.d:\n87-podman.conflist\n\n/opt:\n");
  EXPECT_THAT(Here(other + "set -- \"$@\" --host /; ", "").out,
              HasSubstr("installed /etc/cni/net.d/20-net.conflist\n"));
}

TEST_F(InstallTest, AHostThatIsNotThereIsNotMade) {
  fs::remove(host_);
  const ProcessResult result = Install();
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("--host says where the node's root is"));
  EXPECT_FALSE(fs::exists(host_));
}

}  // namespace
}  // namespace kuryr::test
