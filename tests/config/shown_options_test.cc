#include "config/shown_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace kuryr {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::SizeIs;

std::vector<std::string> ShownOf(const std::string& text) {
  const std::string file = ::testing::TempDir() + "shown." + std::to_string(::getpid());
  std::ofstream(file) << text;
  std::vector<std::string> shown = ShownOptions(ConfigFiles({file}));
  static_cast<void>(::unlink(file.c_str()));
  return shown;
}

TEST(ShownOptionsTest, OptionsStandWithTheirPlace) {
  EXPECT_THAT(ShownOf("[Controller]\nBackend = ovn\n[pool:blue]\ncidr = 10.0.0.0/8\n"),
              ElementsAre(EndsWith(": [controller] backend = ovn"),
                          EndsWith(": [pool:blue] cidr = 10.0.0.0/8")));
}

TEST(ShownOptionsTest, SecretsAreNotShown) {
  const auto shown = ShownOf(
      "[neutron]\npassword = x\ntoken = x\napplication_credential_secret = x\n"
      "[kubernetes]\nbearer_token = x\n[DEFAULT]\ntransport_url = x\n"
      "[database]\nconnection = x\n");
  EXPECT_THAT(shown, SizeIs(6));
  EXPECT_THAT(shown, Each(EndsWith(" = (not shown)")));
}

TEST(ShownOptionsTest, FilesOfSecretsAreShown) {
  EXPECT_THAT(ShownOf("[kubernetes]\ntoken_file = /token\n"), ElementsAre(EndsWith(" = /token")));
}

TEST(ShownOptionsTest, UsersOfUrlsAreNotShown) {
  EXPECT_THAT(ShownOf("[neutron]\nauth_url = https://admin:se@cret@api:5000/v3\n"),
              ElementsAre(EndsWith(" = https://(not shown)@api:5000/v3")));
}

TEST(ShownOptionsTest, PasswordsOfUrlsMayHaveAnyCharacter) {
  EXPECT_EQ(WithoutUsers("asks http://a:b/c@d:e@one/v3 and \"https://u:p@two\", http://three"),
            "asks http://(not shown)@one/v3 and \"https://(not shown)@two\", http://three");
}

/// What a reference stands for may be a secret.
TEST(ShownOptionsTest, ReferencesStayAsTheyAreWritten) {
  EXPECT_THAT(ShownOf("[neutron]\npassword = x\nusername = $password\n"),
              ElementsAre(EndsWith(" = (not shown)"), EndsWith(" username = $password")));
}

}  // namespace
}  // namespace kuryr
