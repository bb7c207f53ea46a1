#include "service/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "service/common_options.h"
#include "service/completion.h"

namespace kuryr::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// A program with an option, a flag, and a command with a choice.
class CommandLineTest : public ::testing::Test {
 protected:
  /// A program that is called with these words.
  std::optional<EarlyEnd> Parse(std::vector<const char*> words) {
    ProgramLine line("prog", "prog does things.\n");
    line.Add("-c,--config-file FILE", files_, "Read this file");
    line.Add("--debug", debug_, "Log more");
    CommandLine status = line.AddCommand("status", "Show all");
    status.AddOutput(as_json_);
    status.Add("WHAT", what_, "What to show").AllowOnly({"alive", "ready"});
    words.insert(words.begin(), "prog");
    return line.Parse(static_cast<int>(words.size()), words.data());
  }
  std::string Completed(std::vector<const char*> words) {
    words.insert(words.begin(), kComplete);
    return Parse(std::move(words)).value().text;
  }

  std::vector<std::string> files_;
  bool debug_ = false;
  bool as_json_ = false;
  std::string what_;
};

TEST_F(CommandLineTest, TakesAnOptionBeforeAndBehindACommand) {
  EXPECT_FALSE(Parse({"--config-file", "a", "status", "-c", "b", "alive"}));
  EXPECT_EQ(files_, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(what_, "alive");
}

TEST_F(CommandLineTest, PrintsJsonByEitherOption) {
  EXPECT_FALSE(Parse({"status", "-o", "json"}));
  EXPECT_TRUE(as_json_);
  EXPECT_FALSE(Parse({"status", "--output", "text"}));
  EXPECT_FALSE(as_json_);
  EXPECT_FALSE(Parse({"status", "--json"}));
  EXPECT_TRUE(as_json_);
}

TEST_F(CommandLineTest, EachMisuseEndsWith2) {
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{"statsu"},
                                             {"--debgu"},
                                             {"status", "--jsn"},
                                             {"status", "dead"},
                                             {"status", "-o", "yaml"},
                                             {"--config-file"},
                                             {"status", "alive", "more"},
                                             {"help", "statsu"},
                                             {"completion", "csh"}}) {
    const auto end = Parse(words);
    ASSERT_TRUE(end) << words.front();
    EXPECT_EQ(end->exit_code, kCommandFailed) << end->text;
    EXPECT_THAT(end->text, AllOf(StartsWith("prog: "), HasSubstr("prog --help")));
  }
}

TEST_F(CommandLineTest, RefusesWhatIsNoPod) {
  std::string pod;
  for (const char* word : {"a/b", "a.b/c-d", "a", "a/", "/b", "a/b/c", "A/b"}) {
    ProgramLine line("prog", "prog does things.\n");
    line.AddCommand("status", "Show all").Add("POD", pod, "A pod").AllowPod();
    const std::array words = {"prog", "status", word};
    const auto end = line.Parse(words.size(), words.data());
    if (word == std::string("a/b") || word == std::string("a.b/c-d")) {
      EXPECT_FALSE(end) << end->text;
      continue;
    }
    ASSERT_TRUE(end) << word;
    EXPECT_EQ(end->exit_code, kCommandFailed);
    EXPECT_THAT(end->text,
                HasSubstr(word + std::string("\" names no pod; expected NAMESPACE/NAME")));
  }
}

TEST_F(CommandLineTest, SuggestsWhatMayHaveBeenMeant) {
  EXPECT_THAT(Parse({"statsu"})->text, HasSubstr("no command statsu; did you mean status?"));
  EXPECT_THAT(Parse({"--debgu"})->text, HasSubstr("no option --debgu; did you mean --debug?"));
  EXPECT_THAT(Parse({"help", "statsu"})->text, HasSubstr("did you mean status?"));
  EXPECT_THAT(Parse({"status", "--jsn"})->text,
              HasSubstr("status takes no option --jsn; did you mean --json?"));
  EXPECT_THAT(Parse({"help", "--json"})->text, Not(HasSubstr("did you mean")));
  EXPECT_THAT(Parse({"quite-another"})->text, Not(HasSubstr("did you mean")));
  EXPECT_THAT(Parse({"-x"})->text, Not(HasSubstr("did you mean")));
  EXPECT_THAT(Parse({"status", "-x"})->text,
              AllOf(HasSubstr("status takes no option -x"), Not(HasSubstr("did you mean"))));
}

TEST_F(CommandLineTest, HelpAndVersionAreCommandsToo) {
  EXPECT_EQ(Parse({"version"})->text, Parse({"-V"})->text);
  EXPECT_EQ(Parse({"help"})->text, Parse({"--help"})->text);
  EXPECT_EQ(Parse({"help", "status"})->text, Parse({"status", "--help"})->text);
  EXPECT_EQ(Parse({"version"})->exit_code, 0);
}

TEST_F(CommandLineTest, HelpNamesTheValueOfAnOption) {
  EXPECT_THAT(Parse({"--help"})->text, AllOf(HasSubstr("--config-file FILE"),
                                             Not(HasSubstr("FILE ...")), Not(HasSubstr("TEXT"))));
}

TEST_F(CommandLineTest, CompletesCommandsWithTheirMeaning) {
  EXPECT_EQ(Completed({"st"}), "status\tShow all\n");
  EXPECT_THAT(Completed({""}), AllOf(HasSubstr("status\t"), HasSubstr("completion\t")));
}

TEST_F(CommandLineTest, CompletesOptionsOfTheCommandAndOfTheProgram) {
  EXPECT_THAT(Completed({"status", "--"}), AllOf(HasSubstr("--output\t"), HasSubstr("--debug\t")));
  EXPECT_THAT(Completed({"--"}), Not(HasSubstr("--output")));
  const std::string helps = Completed({"status", "--help"});
  EXPECT_EQ(std::count(helps.begin(), helps.end(), '\n'), 1) << helps;
}

TEST_F(CommandLineTest, CompletesValues) {
  EXPECT_EQ(Completed({"status", "re"}), "ready\n");
  EXPECT_EQ(Completed({"status", "-o", ""}), "text\njson\n");
  EXPECT_EQ(Completed({"--config-file", "/e"}), ":files\n");
}

TEST_F(CommandLineTest, AValueIsNoCommand) {
  EXPECT_THAT(Completed({"--config-file", "status", "st"}), StartsWith("status"));
}

class UnknownOptionTest : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(file_) << "[ovn]\nsrvices = ovn\n"; }
  void TearDown() override { std::filesystem::remove(file_); }

  const std::string file_ = ::testing::TempDir() + "strict." + std::to_string(::getpid());
};

TEST_F(UnknownOptionTest, IsAWarning) {
  ::testing::internal::CaptureStderr();
  WarnOfUnknownOptions(ConfigFiles({file_}), false);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("level=warning"), HasSubstr("did you mean services?")));
}

TEST_F(UnknownOptionTest, EndsAStrictStart) {
  EXPECT_THROW(WarnOfUnknownOptions(ConfigFiles({file_}), true), ConfigError);
}

}  // namespace
}  // namespace kuryr::service
