// Hostile servers: a client spends bounded time and memory on them, and says what was wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "tests/fake_apiserver/server.h"
#include "tests/watcher/listener.h"
#include "tests/watcher/resident_bytes.h"
#include "watcher/api_client.h"
#include "watcher/api_error.h"
#include "watcher/list_pages.h"
#include "watcher/watch_event.h"
#include "watcher/watcher.h"

namespace kuryr::watcher {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kHead =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
constexpr size_t kMebibyte = size_t{1} << 20;

std::string Chunk(const std::string& data) {
  std::ostringstream chunk;
  chunk << std::hex << data.size() << "\r\n" << data << "\r\n";
  return chunk.str();
}

/// A server that answers every request with what the test writes.
class HostileServerTest : public ::testing::Test {
 protected:
  using Answer = std::function<void(fake::Connection&)>;

  std::string Failure(Answer answer,
                      ApiClient::Limits limits = {.lifetime = seconds(1), .silence = seconds(60)}) {
    answer_ = std::move(answer);
    ApiClient client({.api_root = "http://127.0.0.1:" + std::to_string(server_.port()),
                      .connect_timeout = seconds(1),
                      .read_timeout = seconds(1)});
    LineSplitter lines;
    try {
      client.Stream("/api/v1/pods", limits, [&](std::string_view bytes) {
        lines.Feed(bytes, [](std::string_view) {});
        return true;
      });
      return "none";
    } catch (const ApiError& e) {
      return e.reason() + ": " + e.what();
    } catch (const ApiUnavailable& e) {
      return e.what();
    }
  }
  /// The failure of a watch, told when it ends.
  std::string WatchFailure(Answer answer) {
    answer_ = std::move(answer);
    Listener listener;
    Watcher watcher({.api_root = "http://127.0.0.1:" + std::to_string(server_.port())}, listener,
                    listener.OnFailure());
    watcher.Add("/api/v1/pods");
    watcher.Start();
    const auto heard = listener.WaitFor(1);
    return heard.empty() ? "none" : heard.front();
  }
  /// The error with which `ask` fails.
  std::string AnswerFailure(const std::string& body, const std::function<void(ApiClient&)>& ask) {
    answer_ = [&](fake::Connection& connection) {
      (void)connection.Write(
          "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
          std::to_string(body.size()) + "\r\n\r\n" + body);
    };
    ApiClient client({.api_root = "http://127.0.0.1:" + std::to_string(server_.port())});
    try {
      ask(client);
      return "none";
    } catch (const ApiError& e) {
      return e.reason() + ": " + e.what();
    }
  }
  static std::string Repeated(const std::string& text, size_t times) {
    std::string all;
    all.reserve(text.size() * times);
    for (size_t i = 0; i < times; ++i) all += text;
    return all;
  }
  /// Sends `text` for ever.
  static Answer Endless(const std::string& head, const std::string& text) {
    return [=](fake::Connection& connection) {
      bool open = connection.Write(head);
      while (open) open = connection.Write(text);
    };
  }
  /// Sends one byte at a time, for ever.
  static Answer Dripping(const std::string& head) {
    return [=](fake::Connection& connection) {
      const fake::Signal never;
      bool open = connection.Write(head);
      while (open) {
        open = connection.Write("x") &&
               connection.WaitUntil(
                   never, fake::Connection::Clock::now() + std::chrono::milliseconds(100)) ==
                   fake::Connection::Wake::kTimeout;
      }
    };
  }

 private:
  Answer answer_;
  fake::Server server_{"127.0.0.1", 0, std::nullopt, [this](fake::Connection& connection) {
                         while (connection.input().find("\r\n\r\n") == std::string::npos) {
                           if (!connection.ReadMore()) return;
                         }
                         answer_(connection);
                       }};
};

TEST_F(HostileServerTest, AStatusLineByteByByteIsNotWaitedFor) {
  EXPECT_THAT(Failure(Dripping("")), HasSubstr("no answer in time"));
}

TEST_F(HostileServerTest, HeadersByteByByteAreNotWaitedFor) {
  EXPECT_THAT(Failure(Dripping("HTTP/1.1 200 OK\r\nX-Slow: ")), HasSubstr("no answer in time"));
}

TEST_F(HostileServerTest, ABodyByteByByteEndsWithItsTime) {
  EXPECT_THAT(Failure(Dripping(std::string(kHead) + "ffffff\r\n")),
              HasSubstr("answer not finished in time"));
}

TEST_F(HostileServerTest, ASilentServerIsNotWaitedFor) {
  EXPECT_THAT(Failure([](fake::Connection& connection) { connection.WaitForClose(); }),
              HasSubstr("no answer in time"));
}

TEST_F(HostileServerTest, AWatchThatFallsSilentEndsWithItsTime) {
  EXPECT_THAT(Failure([](fake::Connection& connection) {
                (void)connection.Write(kHead);
                connection.WaitForClose();
              }),
              HasSubstr("answer not finished in time"));
}

TEST_F(HostileServerTest, AWatchThatIsSilentForLongEndsWithoutAFailure) {
  const auto fall_silent = [](fake::Connection& connection) {
    (void)connection.Write(kHead);
    connection.WaitForClose();
  };
  EXPECT_EQ(Failure(fall_silent, {.lifetime = seconds(60), .silence = seconds(1)}), "none");
}

TEST_F(HostileServerTest, AWatchThatTellsSomethingNowAndThenIsNotSilent) {
  EXPECT_THAT(Failure(Dripping(std::string(kHead) + "ffffff\r\n"),
                      {.lifetime = seconds(4), .silence = seconds(2)}),
              HasSubstr("answer not finished in time"));
}

TEST_F(HostileServerTest, AnEndlessStatusLineIsRefused) {
  EXPECT_THAT(Failure(Endless("HTTP/1.1 200 ", std::string(4096, 'x'))), HasSubstr("broke off"));
}

TEST_F(HostileServerTest, AStatusLineAsLongAsTheyGetIsRead) {
  EXPECT_THAT(Failure([](fake::Connection& connection) {
                (void)connection.Write("HTTP/1.1 500 " + std::string(8000, 'x') +
                                       "\r\nContent-Length: 0\r\n\r\n");
              }),
              HasSubstr("answered 500"));
}

TEST_F(HostileServerTest, AnEndlessHeaderLineIsRefused) {
  EXPECT_THAT(Failure(Endless("HTTP/1.1 200 OK\r\nX-Long: ", std::string(4096, 'x'))),
              HasSubstr("broke off"));
}

TEST_F(HostileServerTest, EndlessHeadersAreRefused) {
  EXPECT_THAT(Failure(Endless("HTTP/1.1 200 OK\r\n", "X-Many: y\r\n")), HasSubstr("broke off"));
}

TEST_F(HostileServerTest, AnEndlessChunkSizeIsRefused) {
  EXPECT_THAT(Failure(Endless(kHead, std::string(4096, '0'))), HasSubstr("broke off"));
}

TEST_F(HostileServerTest, AnEndlessLineCostsNoMoreMemoryThanALongOne) {
  const size_t before = ResidentBytes();
  const std::string chunk = Chunk(std::string(kMebibyte, 'x'));

  const std::string failure = Failure(Endless(kHead, chunk));

  EXPECT_THAT(failure, HasSubstr("answer not finished in time"));
  EXPECT_LT(ResidentBytes(), before + 64 * kMebibyte);
}

TEST_F(HostileServerTest, AnObjectLargerThanAnyIsNotReadToItsEnd) {
  const size_t before = ResidentBytes();
  const std::string body = "[" + Repeated("[],", 5'000'000) + "[]]";

  const std::string failure =
      AnswerFailure(body, [](ApiClient& client) { (void)client.Get("/api/v1/nodes/a"); });

  EXPECT_THAT(failure, HasSubstr("AnswerTooLarge: GET /api/v1/nodes/a"));
  EXPECT_LT(ResidentBytes(), before + 128 * kMebibyte);
}

TEST_F(HostileServerTest, AnObjectOfVeryManyValuesIsNotMade) {
  const std::string body = "[" + Repeated("[],", 1'100'000) + "[]]";

  EXPECT_THAT(AnswerFailure(body, [](ApiClient& client) { (void)client.Get("/api/v1/nodes/a"); }),
              HasSubstr("has more than 1048576 values"));
}

TEST_F(HostileServerTest, AListOfMoreItemsThanObjectsHaveRoomForIsTooLarge) {
  const std::string body = R"({"kind":"PodList","items":[)" + Repeated("[],", 300'000) + "[]]}";

  EXPECT_THAT(AnswerFailure(
                  body, [](ApiClient& client) { (void)ListPage(client.GetText("/api/v1/pods")); }),
              AllOf(HasSubstr("AnswerTooLarge: "), HasSubstr("300001 items")));
}

TEST_F(HostileServerTest, AWatchLineWithoutEndEndsTheWatch) {
  EXPECT_THAT(WatchFailure(Endless(kHead, Chunk(std::string(kMebibyte, 'x')))),
              HasSubstr("a watch line of more than 67108864 bytes"));
}

TEST_F(HostileServerTest, AWatchOfLinesThatAreNoEventsEnds) {
  EXPECT_THAT(WatchFailure(Endless(kHead, Chunk("x\n"))),
              HasSubstr("more than 100 lines that are no events"));
}

TEST_F(HostileServerTest, ARedirectIsNotFollowedAndIsNamed) {
  EXPECT_THAT(
      Failure([](fake::Connection& connection) {
        (void)connection.Write(
            "HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n");
      }),
      AllOf(HasSubstr("Redirect: "), HasSubstr("http://elsewhere/")));
}

TEST_F(HostileServerTest, AWebPageIsNoKubernetes) {
  EXPECT_THAT(
      Failure([](fake::Connection& connection) {
        (void)connection.Write(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>");
      }),
      AllOf(HasSubstr("NotKubernetes: "), HasSubstr("text/html"), HasSubstr("api_root")));
}

TEST_F(HostileServerTest, AnAnswerThatIsNoHttpIsRefused) {
  EXPECT_THAT(Failure([](fake::Connection& connection) {
                (void)connection.Write("SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n");
              }),
              HasSubstr("broke off"));
}

}  // namespace
}  // namespace kuryr::watcher
