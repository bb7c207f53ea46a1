#include "config/unknown_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace kuryr {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> FoundIn(const std::string& text) {
  const std::string file = ::testing::TempDir() + "unknown." + std::to_string(::getpid());
  std::ofstream(file) << text;
  std::vector<std::string> found = FindUnknownOptions(ConfigFiles({file}));
  static_cast<void>(::unlink(file.c_str()));
  return found;
}

TEST(UnknownOptionsTest, NamesFileAndSectionAndTheOneThatMayHaveBeenMeant) {
  for (const char* text : {"[contoller]\nbackend = ovn\n", "[contoller]\n"}) {
    EXPECT_THAT(FoundIn(text),
                ElementsAre(AllOf(HasSubstr("unknown."), HasSubstr(": [contoller]: "),
                                  HasSubstr("did you mean controller?"))));
  }
}

TEST(UnknownOptionsTest, NamesFileSectionAndOption) {
  EXPECT_THAT(FoundIn("[controller]\nbakend = ovn\n"),
              ElementsAre(AllOf(HasSubstr("unknown."), HasSubstr("[controller] bakend"),
                                HasSubstr("did you mean backend?"))));
}

TEST(UnknownOptionsTest, FindsAnOptionThatIsLikeNone) {
  EXPECT_THAT(FoundIn("[ovn]\nquite_another = 1\n"),
              ElementsAre(HasSubstr("[ovn] quite_another: no program reads this option")));
}

TEST(UnknownOptionsTest, FindsAMistakeInASectionOfKuryrKubernetes) {
  EXPECT_THAT(FoundIn("[kubernetes]\napi_rot = https://api\n"),
              ElementsAre(HasSubstr("did you mean api_root?")));
}

/// Its users keep their file.
TEST(UnknownOptionsTest, LeavesKuryrKubernetesOptions) {
  EXPECT_THAT(FoundIn("[DEFAULT]\nuse_stderr = true\nlog_dir = /var/log\n"
                      "[kubernetes]\nnodes_subnets_driver = config\nenabled_handlers = vif\n"
                      "[cni_daemon]\nworker_num = 30\ndocker_mode = true\n"
                      "[octavia_defaults]\nmember_mode = L3\n"
                      "[oslo_concurrency]\nlock_path = /run\n"
                      "[neutron_defaults]\nservice_subnet = 1\n"),
              IsEmpty());
}

TEST(UnknownOptionsTest, LeavesPoolsToTheirReader) {
  EXPECT_THAT(FoundIn("[pool:blue]\ncird = 10.0.0.0/8\n"), IsEmpty());
}

}  // namespace
}  // namespace kuryr
