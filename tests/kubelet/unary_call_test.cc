#include "kubelet/unary_call.h"

#include <sys/socket.h>

#include <array>
#include <string>
#include <system_error>
#include <utility>

#include "base/event_fd.h"
#include "base/unique_fd.h"
#include "kubelet/frame.h"
#include "tests/kubelet/kubelet_fixture.h"
#include "tests/kubelet/raw_peer.h"

namespace kuryr::kubelet {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Calls a server that sends what a test wants.
class UnaryCallTest : public KubeletTest {
 protected:
  /// The outcome of a call when the server sends its settings and then `bytes`.
  std::string OutcomeOf(const std::string& bytes, int times = 1) {
    const RawServer server(socket(), RawFrame{.type = kSettings}.Bytes() + bytes, times);
    return Outcome(Request("/a/B"));
  }
  static std::string Headers(const std::string& fields, int flags = kEndHeaders) {
    return RawFrame{.type = kHeaders, .flags = flags, .stream = 1, .payload = fields}.Bytes();
  }
  static std::string Data(const std::string& payload, int flags = kNone) {
    return RawFrame{.type = kData, .flags = flags, .stream = 1, .payload = payload}.Bytes();
  }
  static std::string Trailers(const std::string& fields) {
    return Headers(fields, kEndHeaders | kEndStream);
  }
};

TEST_F(UnaryCallTest, AnAnswerIsItsMessage) {
  EXPECT_EQ(OutcomeOf(Headers(AnswerFields()) + Data(Frame("hello")) +
                      Trailers(Field("grpc-status", "0"))),
            "hello");
}

TEST_F(UnaryCallTest, AStatusComesWithItsMessageDecoded) {
  EXPECT_EQ(OutcomeOf(Trailers(AnswerFields() + Field("grpc-status", "5") +
                               Field("grpc-message", "no %22pod%22"))),
            "NOT_FOUND: no \"pod\"");
  EXPECT_EQ(OutcomeOf(Headers(AnswerFields()) + Trailers(Field("grpc-status", "12"))),
            "UNIMPLEMENTED");
}

TEST_F(UnaryCallTest, WhatIsNoGrpcIsRefused) {
  EXPECT_EQ(OutcomeOf(Trailers(Field(":status", "404"))), "UNIMPLEMENTED: HTTP status 404");
  EXPECT_EQ(OutcomeOf(Trailers(Field(":status", "503"))), "UNAVAILABLE: HTTP status 503");
  EXPECT_EQ(OutcomeOf(Headers(AnswerFields()) + Data(Frame("hello"), kEndStream)),
            "INTERNAL: no grpc-status");
  EXPECT_EQ(OutcomeOf(Headers(AnswerFields()) + Trailers(Field("grpc-status", "0"))),
            "INTERNAL: no message");
  EXPECT_THAT(OutcomeOf("HTTP/1.1 400 Bad Request\r\n\r\n"), StartsWith("UNAVAILABLE"));
}

TEST_F(UnaryCallTest, AResetSaysWhy) {
  const auto reset = [](uint32_t error) {
    return RawFrame{.type = kReset, .stream = 1, .payload = Number(error, 4)}.Bytes();
  };
  EXPECT_EQ(OutcomeOf(reset(7)), "UNAVAILABLE: reset: REFUSED_STREAM");
  EXPECT_EQ(OutcomeOf(reset(8)), "CANCELLED: reset: CANCEL");
  EXPECT_EQ(OutcomeOf(Headers(AnswerFields()) + reset(11)),
            "RESOURCE_EXHAUSTED: reset: ENHANCE_YOUR_CALM");
}

TEST_F(UnaryCallTest, AServerThatGoesAwayIsUnavailableUnlessItHasAnswered) {
  const auto goaway = [](uint32_t last) {
    return RawFrame{.type = kGoaway, .payload = Number(last, 4) + Number(0, 4)}.Bytes();
  };
  EXPECT_THAT(OutcomeOf(goaway(0)), StartsWith("UNAVAILABLE"));
  EXPECT_EQ(OutcomeOf(goaway(1) + Headers(AnswerFields()) + Data(Frame("last")) +
                      Trailers(Field("grpc-status", "0"))),
            "last");
}

TEST_F(UnaryCallTest, APingIsAnsweredWhileTheAnswerIsAwaited) {
  std::array<int, 2> both{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, both.data()), 0);
  const UniqueFd server(both[1]);
  UniqueFd client(both[0]);
  UnaryCall call(std::move(client), Request("/a/B"), Soon());
  const std::string ping =
      RawFrame{.type = kSettings}.Bytes() + RawFrame{.type = kPing, .payload = "12345678"}.Bytes();
  ASSERT_EQ(::send(server.get(), ping.data(), ping.size(), 0), static_cast<ssize_t>(ping.size()));

  EXPECT_FALSE(call.Advance());

  std::array<char, 4096> heard{};
  const ssize_t size = ::recv(server.get(), heard.data(), heard.size(), 0);
  ASSERT_GT(size, 0);
  EXPECT_THAT(std::string(heard.data(), static_cast<size_t>(size)),
              HasSubstr(RawFrame{.type = kPing, .flags = kAck, .payload = "12345678"}.Bytes()));
}

TEST_F(UnaryCallTest, HostileServersAreRefusedBeforeTheyHaveSaidAll) {
  const std::string frame(std::string("\xff\xff\xff\0\0\0\0\0\1", 9));
  EXPECT_THAT(OutcomeOf(frame + std::string(1 << 20, 'x')), StartsWith("UNAVAILABLE"));
  EXPECT_THAT(OutcomeOf(Headers(AnswerFields()) + Data(std::string("\0\x7f\0\0\0", 5))),
              StartsWith("RESOURCE_EXHAUSTED: a message of 2130706432 bytes"));
  const std::string part = Field("a", std::string(100, 'x'));
  const std::string more = RawFrame{.type = kContinuation, .stream = 1, .payload = part}.Bytes();
  std::string endless = Headers(AnswerFields(), kNone);
  for (int n = 0; n < 10'000; ++n) endless += more;
  EXPECT_THAT(OutcomeOf(endless),
              ::testing::AnyOf(StartsWith("UNAVAILABLE"), StartsWith("INTERNAL")));
  std::string fields;
  for (int n = 0; n < 100; ++n) fields += part;
  std::string blocks;
  for (int n = 0; n < 100; ++n) blocks += Headers(AnswerFields() + fields);
  EXPECT_THAT(OutcomeOf(blocks), StartsWith("INTERNAL: more than 65536 bytes of headers"));
}

TEST_F(UnaryCallTest, ATooLongAnswerIsRefused) {
  const RawServer server(socket(), RawFrame{.type = kSettings}.Bytes() + Headers(AnswerFields()) +
                                       Data(Frame("12345")));
  CallRequest request = Request("/a/B");
  request.most_bytes = 4;

  EXPECT_EQ(Outcome(request), "RESOURCE_EXHAUSTED: a message of 5 bytes, at most 4 are taken");
}

TEST_F(UnaryCallTest, AServerThatSaysNothingIsGivenUpAtTheDeadline) {
  const RawServer server(socket(), "");

  EXPECT_EQ(Outcome(Request("/a/B"), Deadline::After(50ms)),
            "DEADLINE_EXCEEDED: no answer in time");
}

TEST_F(UnaryCallTest, ACancelledCallEndsAtOnce) {
  const RawServer server(socket(), "");
  const EventFd cancel;
  cancel.Set();
  Deadline deadline = Soon();
  deadline.cancel_fd = cancel.fd();

  try {
    (void)Call(Request("/a/B"), deadline);
    ADD_FAILURE();
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::operation_canceled);
    EXPECT_THAT(e.what(), HasSubstr("call /a/B at " + socket()));
  }
}

TEST_F(UnaryCallTest, ASocketThatIsMissingIsNamed) {
  try {
    (void)Call(Request("/a/B"), Soon());
    ADD_FAILURE();
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::no_such_file_or_directory);
    EXPECT_THAT(e.what(), HasSubstr(socket()));
  }
  CallRequest request = Request("/a/B");
  request.socket = "/" + std::string(200, 'x');
  EXPECT_THROW((void)Call(request, Soon()), std::system_error);
}

}  // namespace
}  // namespace kuryr::kubelet
