#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "tests/fake_apiserver/fake_api_server.h"
#include "tests/fake_apiserver/raw_client.h"
#include "tests/support/paths.h"

namespace kuryr::fake {
namespace {

using nlohmann::json;

RawAnswer Post(uint16_t port, const json& fault) {
  return Exchange(port, Request("POST", "/fake/faults", "application/json", fault.dump()));
}

TEST(ControlTest, FaultsAreTakenAsJson) {
  const FakeApiServer server({.users = {{.name = "u", .token = "t"}}});

  const int posted = Post(server.port(), {{"kind", "answer"},
                                          {"verb", "list"},
                                          {"path", "/api/v1"},
                                          {"status", 503},
                                          {"body", "no"},
                                          {"content_type", "text/plain"},
                                          {"retry_after", 2}})
                         .Status();
  const RawAnswer answer = Get(server.port(), "/api/v1/pods");

  EXPECT_EQ(posted, 201);
  EXPECT_EQ(answer.status_line, "HTTP/1.1 503 Service Unavailable");
  EXPECT_EQ(answer.body, "no");
  EXPECT_EQ(answer.headers.at("retry-after"), "2");
}

TEST(ControlTest, StreamFaultsAreTakenAsJson) {
  FakeApiServer server;
  server.Create({{"kind", "Pod"}, {"metadata", {{"name", "x"}}}});

  const int posted = Post(server.port(), {{"kind", "tamper"},
                                          {"end_after_events", 1},
                                          {"insert", "garbage\n"},
                                          {"line_end", "\r\n"}})
                         .Status();
  const RawAnswer answer = Get(server.port(), "/api/v1/pods?watch=1");

  EXPECT_EQ(posted, 201);
  EXPECT_EQ(answer.chunks.at(0), "garbage\n");
  EXPECT_TRUE(answer.chunks.at(1).ends_with("\r\n"));
}

TEST(ControlTest, ServerGoesAwayForAWhileOnceItHasAnswered) {
  const FakeApiServer server;
  RawClient idle(server.port());

  const RawAnswer answer = Post(server.port(), {{"kind", "refuse"}, {"for_ms", 1}});

  EXPECT_EQ(answer.Status(), 201);
  EXPECT_EQ(idle.ReadToEnd(), "");
}

TEST(ControlTest, OpenWatchesObey) {
  FakeApiServer server;
  RawClient watch(server.port());
  watch.Send(GetRequest("/api/v1/pods?watch=1&allowWatchBookmarks=true"));

  EXPECT_EQ(Get(server.port(), "/fake/wait?watches=1").Status(), 200);
  for (const json& act : {json{{"kind", "send"}, {"text", "hello\n"}},
                          json{{"kind", "bookmark_watches"}}, json{{"kind", "end_watches"}}}) {
    EXPECT_EQ(Post(server.port(), act).Status(), 201) << act;
  }
  const RawAnswer answer = ParseAnswer(watch.ReadToEnd());

  ASSERT_EQ(answer.chunks.size(), 2U);
  EXPECT_EQ(answer.chunks.at(0), "hello\n");
  EXPECT_TRUE(answer.complete);
}

TEST(ControlTest, MistakesAreNamed) {
  const FakeApiServer server;

  EXPECT_EQ(Post(server.port(), {{"kind", "explode"}}).Status(), 400);
  EXPECT_EQ(Post(server.port(), {{"kind", "answer"}, {"colour", "red"}}).Status(), 400);
  EXPECT_EQ(Post(server.port(), {{"kind", "answer"}, {"status", "red"}}).Status(), 400);
  EXPECT_EQ(Post(server.port(), {{"kind", "refuse"}}).Status(), 400);
  EXPECT_EQ(Get(server.port(), "/fake/nothing").Status(), 404);
}

TEST(ControlTest, RequestsAreShownAndWaitedForWithoutTheControlItself) {
  const FakeApiServer server;
  static_cast<void>(Get(server.port(), "/api/v1/pods"));

  const RawAnswer wait = Get(server.port(), "/fake/wait?verb=list&path=/api/v1/pods");
  const RawAnswer too_late = Get(server.port(), "/fake/wait?verb=patch&seconds=0");
  const json requests = json::parse(Get(server.port(), "/fake/requests").body);

  EXPECT_EQ(wait.Status(), 200);
  EXPECT_EQ(too_late.Status(), 504);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests.at(0).at("target"), "/api/v1/pods");
}

/// The program as a child process; the test reads its standard output.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) ThrowErrno("pipe");
    output_.reset(ends[0]);
    const UniqueFd theirs(ends[1]);
    std::string path = test::BinDir() + "/fake-apiserver";
    std::vector<char*> argv = {path.data()};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_addclose(&actions, ends[0]);
    const int error = ::posix_spawn(&pid_, path.c_str(), &actions, nullptr, argv.data(), ::environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) ThrowErrno(error, "spawn " + path);
  }
  ~Program() {
    if (pid_ > 0) static_cast<void>(End(SIGKILL));
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] std::string ReadLine() const {
    std::string line;
    for (char c = 0; ::read(output_.get(), &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  /// The exit code, or -1 for an end by a signal.
  [[nodiscard]] int End(int signal) {
    int status = 0;
    ::kill(pid_, signal);
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  UniqueFd output_;
  pid_t pid_ = 0;
};

TEST(ProgramTest, PrintsItsUrlServesAndEndsOnSigterm) {
  Program program({"--token", "secret"});
  const std::string url = program.ReadLine();
  ASSERT_TRUE(url.starts_with("http://127.0.0.1:")) << url;
  const auto port = static_cast<uint16_t>(std::stoi(url.substr(17)));

  const int anonymous = Get(port, "/api/v1/pods").Status();
  const int known = Exchange(port,
                             "GET /api/v1/pods HTTP/1.1\r\nAuthorization: Bearer secret\r\n"
                             "Connection: close\r\n\r\n")
                        .Status();

  EXPECT_EQ(anonymous, 403);
  EXPECT_EQ(known, 200);
  EXPECT_EQ(program.End(SIGTERM), 0);
}

}  // namespace
}  // namespace kuryr::fake
