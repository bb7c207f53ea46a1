#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace kuryr {
namespace {

using ::testing::ElementsAre;

class LogScopeTest : public ::testing::Test {
 protected:
  void SetUp() override { SetLogFile(path_); }
  void TearDown() override { std::filesystem::remove(path_); }

  /// The logged text from msg= on.
  [[nodiscard]] std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    std::ifstream in(path_);
    for (std::string line; std::getline(in, line);) lines.push_back(line.substr(line.find("msg=")));
    return lines;
  }
  static void Write(const std::string& message) {
    Log(LogLevel::kError, message, {{"ifname", "eth0"}});
  }

 private:
  const std::string path_ = ::testing::TempDir() + "log-" + std::to_string(::getpid());
};

TEST(LogFileTest, IsNotMadeInAFolderThatIsNotThere) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "no-such-folder";

  EXPECT_THROW(SetLogFile(folder / "kuryr.log"), std::runtime_error);

  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(LogScopeTest, EndsTheLinesOfItsThreadWhileItLives) {
  Write("before");
  {
    const LogScope outer(LogField("trace_id", "1a"));
    {
      const LogScope inner(LogField("pod", "a b"));
      Write("inner");
    }
    Write("outer");
    std::jthread([] { Write("other"); }).join();
  }
  Write("after");

  EXPECT_THAT(Lines(),
              ElementsAre("msg=before ifname=eth0", "msg=inner ifname=eth0 trace_id=1a pod=\"a b\"",
                          "msg=outer ifname=eth0 trace_id=1a", "msg=other ifname=eth0",
                          "msg=after ifname=eth0"));
}

TEST_F(LogScopeTest, AThreadTakesOverWhatAnotherOneSays) {
  const LogScope scope(LogField("trace_id", "1a"));

  std::jthread([context = LogContext::Current()] {
    const LogScope own(LogField("trace_id", "2b"));
    {
      const LogScope taken(context);
      Write("taken");
    }
    Write("own");
  }).join();

  EXPECT_THAT(Lines(),
              ElementsAre("msg=taken ifname=eth0 trace_id=1a", "msg=own ifname=eth0 trace_id=2b"));
}

TEST_F(LogScopeTest, WhatATerminalWouldObeyIsWrittenAsText) {
  Log(LogLevel::kError, "refused",
      {{"one", "\x1b[2J"}, {"two", "a\r\tb\nc"}, {"three", "\xc2\x9bZ"}, {"four", "\x7f"}});

  EXPECT_THAT(Lines(), ElementsAre(R"(msg=refused one="\x1b[2J" two="a\x0d\x09b\nc" )"
                                   R"(three="\xc2\x9bZ" four="\x7f")"));
}

}  // namespace
}  // namespace kuryr
