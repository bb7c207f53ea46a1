#include "kubelet/server.h"

#include <sys/stat.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include "kubelet/deviceplugin.pb.h"
#include "kubelet/frame.h"
#include "kubelet/message.h"
#include "kubelet/methods.h"
#include "tests/kubelet/kubelet_fixture.h"
#include "tests/kubelet/raw_peer.h"

namespace kuryr::kubelet {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr size_t kSeveralMegabytes = size_t{6} << 20;

/// Servers and their clients.
class ServerTest : public KubeletTest {
 protected:
  static Methods Echo() {
    return {.unary = {{"/a/Echo", [](const std::string& request) { return request; }}}};
  }
  static std::string Fields(const std::string& path, const std::string& authority = "localhost") {
    return Field(":method", "POST") + Field(":scheme", "http") + Field(":path", path) +
           Field(":authority", authority) + Field("content-type", "application/grpc");
  }
  static std::string Headers(const std::string& fields, int flags = kEndHeaders,
                             uint32_t stream = 1) {
    return RawFrame{.type = kHeaders, .flags = flags, .stream = stream, .payload = fields}.Bytes();
  }
  static std::string Data(const std::string& payload) {
    return RawFrame{.type = kData, .flags = kEndStream, .stream = 1, .payload = payload}.Bytes();
  }
  /// Makes a call that is never over. False: the server closed the connection instead.
  static bool OpensCall(RawClient& client) {
    client.Say(Begin() + Headers(Fields("/a/Watch")) + Data(Frame("")));
    return client.Hears(Frame("first"));
  }
  static Methods Watch() {
    Methods methods = Echo();
    methods.streaming["/a/Watch"] = [](const std::string&,
                                       const std::shared_ptr<AnswerStream>& stream) {
      stream->Send("first");
    };
    return methods;
  }
  static std::string Begin() { return kPreface + RawFrame{.type = kSettings}.Bytes(); }
};

TEST_F(ServerTest, AnswersAMethodByItsPath) {
  const RunningServer server(socket(), Echo());

  EXPECT_EQ(Call(Request("/a/Echo", "hello"), Soon()), "hello");
  EXPECT_EQ(Outcome(Request("/a/Other")), "UNIMPLEMENTED: no method /a/Other");
}

TEST_F(ServerTest, WhatAHandlerThrowsIsTheAnswer) {
  Methods methods;
  methods.unary["/a/Call"] = [](const std::string&) -> std::string {
    throw CallError({StatusCode::kNotFound, "no device \xc3\xa4"});
  };
  methods.unary["/a/Other"] = [](const std::string&) -> std::string {
    throw std::runtime_error("broken");
  };
  methods.unary["/a/Message"] = Unary<v1beta1::AllocateRequest>(
      [](const v1beta1::AllocateRequest&) { return v1beta1::AllocateResponse(); });
  const RunningServer server(socket(), methods);

  EXPECT_EQ(Outcome(Request("/a/Call")), "NOT_FOUND: no device \\xc3\\xa4");
  EXPECT_EQ(Outcome(Request("/a/Other")), "INTERNAL: broken");
  EXPECT_THAT(Outcome(Request("/a/Message", "\xff")), StartsWith("INVALID_ARGUMENT"));
}

TEST_F(ServerTest, AStringThatIsNoUtf8IsRefusedWithoutALineInTheLog) {
  const auto handler = Unary<v1beta1::AllocateRequest>(
      [](const v1beta1::AllocateRequest&) { return v1beta1::AllocateResponse(); });
  ::testing::internal::CaptureStderr();

  // containerRequests[0].devicesIDs[0] = "\xff"
  EXPECT_THROW((void)handler("\x0a\x03\x0a\x01\xff"), CallError);

  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(ServerTest, APingIsAnswered) {
  const RunningServer server(socket(), Echo());
  RawClient client(socket());

  client.Say(Begin() + RawFrame{.type = kPing, .payload = "12345678"}.Bytes());

  EXPECT_TRUE(client.Hears(RawFrame{.type = kPing, .flags = kAck, .payload = "12345678"}.Bytes()));
}

/// A client that closes sends GOAWAY first: its earlier requests are answered.
TEST_F(ServerTest, APeerThatGoesAwayIsAnswered) {
  const RunningServer server(socket(), Echo());
  RawClient client(socket());

  client.Say(Begin() + Headers(Fields("/a/Echo")) +
             RawFrame{.type = kGoaway, .payload = std::string(8, '\0')}.Bytes() +
             Data(Frame("hello")));

  EXPECT_TRUE(client.Hears(Frame("hello")));
  EXPECT_TRUE(client.HearsEnd());
}

TEST_F(ServerTest, AnswersOfSeveralMegabytesPassFlowControl) {
  ServerLimits limits;
  limits.message_bytes = kSeveralMegabytes;
  limits.asked_bytes = kSeveralMegabytes + 5;
  const RunningServer server(socket(), Echo(), limits);
  const std::string message(kSeveralMegabytes, 'x');

  EXPECT_TRUE(Call(Request("/a/Echo", message), Soon()) == message);
}

TEST_F(ServerTest, MessagesOfTheKubeletKeepTheirFields) {
  Methods methods;
  methods.unary[kAllocate] =
      Unary<v1beta1::AllocateRequest>([](const v1beta1::AllocateRequest& request) {
        v1beta1::AllocateResponse answer;
        auto& container = *answer.add_container_responses();
        (*container.mutable_envs())["A"] = request.container_requests(0).devices_ids(0);
        container.add_cdi_devices()->set_name("a/b=c");
        return answer;
      });
  const RunningServer server(socket(), methods);

  // containerRequests[0].devicesIDs[0] = "x"
  const std::string answer = Call(Request(kAllocate, "\x0a\x03\x0a\x01x"), Soon());

  // container_responses[0] = { envs["A"] = "x", cdi_devices[0].name = "a/b=c" }
  EXPECT_EQ(answer,
            "\x0a\x11\x0a\x06\x0a\x01"
            "A\x12\x01x\x2a\x07\x0a\x05"
            "a/b=c");
}

TEST_F(ServerTest, AStreamTellsNewsWhenTheLoopIsWoken) {
  std::shared_ptr<AnswerStream> stream;
  Methods methods;
  methods.streaming[kListAndWatch] = [&](const std::string&, std::shared_ptr<AnswerStream> own) {
    own->Send("first");
    stream = std::move(own);
  };
  const RunningServer server(socket(), methods, {}, [&] { stream->Send("news"); });
  RawClient client(socket());
  client.Say(Begin() + Headers(Fields(kListAndWatch)) + Data(Frame("")));
  ASSERT_TRUE(client.Hears(Frame("first")));

  server.Wake();

  EXPECT_TRUE(client.Hears(Frame("news")));
}

TEST_F(ServerTest, AStreamOfAPeerThatHasGoneIsClosed) {
  std::shared_ptr<AnswerStream> stream;
  Methods methods;
  methods.streaming["/a/Watch"] = [&](const std::string&, std::shared_ptr<AnswerStream> own) {
    own->Send("first");
    stream = std::move(own);
  };
  Server server(socket(), methods);
  const auto advance_while = [&](const std::function<bool()>& waits) {
    while (waits()) {
      pollfd ready{.fd = server.fd(), .events = POLLIN, .revents = 0};
      ASSERT_EQ(::poll(&ready, 1, 20'000), 1);
      server.Advance();
    }
  };
  {
    const RawClient client(socket());
    client.Say(Begin() + Headers(Fields("/a/Watch")) + Data(Frame("")));
    advance_while([&] { return stream == nullptr; });
    EXPECT_TRUE(stream->is_open());
  }

  advance_while([&] { return server.connections() > 0; });

  EXPECT_FALSE(stream->is_open());
  stream->Send("nobody hears it");
  stream->Finish({});
  EXPECT_EQ(stream->queued(), 0U);
}

TEST_F(ServerTest, AStreamIsFinishedWithAStatus) {
  Methods methods;
  methods.streaming["/a/Watch"] = [](const std::string&, const std::shared_ptr<AnswerStream>& own) {
    own->Send("one");
    own->Finish({StatusCode::kUnavailable, "stopping"});
    EXPECT_FALSE(own->is_open());
    own->Send("two");
  };
  const RunningServer server(socket(), methods);

  EXPECT_EQ(Outcome(Request("/a/Watch")), "UNAVAILABLE: stopping");
}

TEST_F(ServerTest, APeerThatTakesNothingLosesItsStream) {
  std::shared_ptr<AnswerStream> stream;
  Methods methods;
  methods.streaming["/a/Watch"] = [&](const std::string&, std::shared_ptr<AnswerStream> own) {
    stream = std::move(own);
    while (stream->is_open() && stream->queued() < kSeveralMegabytes)
      stream->Send(std::string(1 << 20, 'x'));
  };
  ServerLimits limits;
  limits.queued_bytes = kSeveralMegabytes / 2;
  Server server(socket(), methods, limits);
  const RawClient client(socket());
  client.Say(Begin() + Headers(Fields("/a/Watch")) + Data(Frame("")));

  while (stream == nullptr) {
    pollfd ready{.fd = server.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&ready, 1, 20'000), 1);
    server.Advance();
  }

  EXPECT_FALSE(stream->is_open());
}

/// Kubelets before 2022.
TEST_F(ServerTest, ASocketsPathIsAnAuthority) {
  const RunningServer server(socket(), Echo());
  RawClient client(socket());

  client.Say(Begin() + Headers(Fields("/a/Echo", "/var/lib/kubelet/device-plugins/a.sock")) +
             Data(Frame("hello")));

  EXPECT_TRUE(client.Hears(Frame("hello")));
}

TEST_F(ServerTest, WhatIsTooLongIsRefused) {
  ServerLimits limits;
  limits.message_bytes = 8;
  const RunningServer server(socket(), Echo(), limits);

  EXPECT_EQ(Outcome(Request("/a/Echo", std::string(9, 'x'))),
            "RESOURCE_EXHAUSTED: a message of 9 bytes, at most 8 are taken");
  EXPECT_EQ(Outcome(Request("/a/Echo", "12345678")), "12345678");
}

TEST_F(ServerTest, EndlessHeadersEndTheConnectionAlone) {
  const RunningServer server(socket(), Echo());
  RawClient client(socket());
  std::string more;
  for (int n = 0; n < 100; ++n) more += Field("a", std::string(110, 'x'));

  // Sends two frames: one alone may not be so long.
  client.Say(
      Begin() + Headers(Fields("/a/Echo") + more, kNone) +
      RawFrame{.type = kContinuation, .flags = kEndHeaders, .stream = 1, .payload = more}.Bytes());

  EXPECT_TRUE(client.HearsEnd());
  EXPECT_EQ(Call(Request("/a/Echo", "still"), Soon()), "still");
}

TEST_F(ServerTest, WhatIsNoHttp2EndsTheConnectionAlone) {
  const RunningServer server(socket(), Echo());
  for (const char* bytes : {"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02", ""}) {
    RawClient client(socket());
    client.Say(bytes + std::string(*bytes == '\0' ? kPreface : "") + std::string(100, '\xff'));
    EXPECT_TRUE(client.HearsEnd());
  }

  EXPECT_EQ(Call(Request("/a/Echo", "still"), Soon()), "still");
}

TEST_F(ServerTest, ARequestThatIsNotGrpcIsAnswered415) {
  const RunningServer server(socket(), Echo());
  RawClient client(socket());
  client.Say(Begin() + RawFrame{.type = kHeaders,
                                .flags = kEndHeaders | kEndStream,
                                .stream = 1,
                                .payload = Field(":method", "GET") + Field(":path", "/a/Echo")}
                           .Bytes());

  // HPACK: ":status" is in its table, the value a literal.
  EXPECT_TRUE(client.Hears("415") || client.Hears("\x08\x03"));
}

TEST_F(ServerTest, APeerThatNeverAsksIsClosed) {
  ServerLimits limits;
  limits.asking = 0s;
  const RunningServer server(socket(), Echo(), limits);
  RawClient client(socket());

  EXPECT_TRUE(client.HearsEnd());
}

TEST_F(ServerTest, AStreamEndsAtItsDeadline) {
  Methods methods;
  methods.streaming["/a/Watch"] = [](const std::string&, const std::shared_ptr<AnswerStream>&) {};
  const RunningServer server(socket(), methods);
  RawClient client(socket());

  client.Say(Begin() + Headers(Fields("/a/Watch") + Field("grpc-timeout", "1m")) + Data(Frame("")));

  // HPACK: the value of grpc-status, a literal of one byte.
  EXPECT_TRUE(client.Hears("\0014"));
}

TEST_F(ServerTest, TheLatestOfTooManyConnectionsIsClosed) {
  ServerLimits limits;
  limits.connections = 1;
  const RunningServer server(socket(), Watch(), limits);
  RawClient first(socket());
  EXPECT_TRUE(OpensCall(first));

  RawClient second(socket());

  EXPECT_FALSE(OpensCall(second));
}

TEST_F(ServerTest, ConnectionThatIsLongestWithoutACallMakesWay) {
  ServerLimits limits;
  limits.connections = 3;
  const RunningServer server(socket(), Watch(), limits);
  RawClient busy(socket());
  EXPECT_TRUE(OpensCall(busy));
  RawClient idlest(socket());
  idlest.Say(Begin() + Headers(Fields("/a/Echo")) + Data(Frame("one")));
  ASSERT_TRUE(idlest.Hears(Frame("one")));
  RawClient idle(socket());
  idle.Say(Begin() + Headers(Fields("/a/Echo")) + Data(Frame("two")));
  ASSERT_TRUE(idle.Hears(Frame("two")));

  RawClient newcomer(socket());
  EXPECT_TRUE(OpensCall(newcomer));

  EXPECT_TRUE(idlest.HearsEnd());
  for (RawClient* stays : {&busy, &idle}) {
    stays->Say(RawFrame{.type = kPing, .payload = "12345678"}.Bytes());
    EXPECT_TRUE(
        stays->Hears(RawFrame{.type = kPing, .flags = kAck, .payload = "12345678"}.Bytes()));
  }
}

TEST_F(ServerTest, OneProcessHasFourConnections) {
  const RunningServer server(socket(), Watch());
  std::array<RawClient, 4> clients = {RawClient(socket()), RawClient(socket()), RawClient(socket()),
                                      RawClient(socket())};
  for (RawClient& client : clients) EXPECT_TRUE(OpensCall(client));
  RawClient fifth(socket());

  EXPECT_FALSE(OpensCall(fifth));
}

TEST_F(ServerTest, RequestsOfAConnectionHaveABoundInAll) {
  ServerLimits limits;
  limits.asked_bytes = 3000;
  const RunningServer server(socket(), Echo(), limits);
  RawClient client(socket());
  const std::string half = Frame(std::string(2000, 'x')).substr(0, 1900);
  const auto part = [&](uint32_t stream) {
    return RawFrame{.type = kData, .stream = stream, .payload = half}.Bytes();
  };

  client.Say(Begin() + Headers(Fields("/a/Echo")) + part(1) +
             Headers(Fields("/a/Echo"), kEndHeaders, 3) + part(3));

  // HPACK: the value of grpc-status, a literal of one byte.
  EXPECT_TRUE(client.Hears("\0018"));
}

TEST_F(ServerTest, ItsSocketIsItsOwn) {
  struct stat found{};
  {
    const Server server(socket(), {});
    ASSERT_EQ(::stat(socket().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600U);
  }
  EXPECT_FALSE(std::filesystem::exists(socket()));
  auto older = std::make_unique<Server>(socket(), Methods());
  const Server newer(socket(), {});
  older.reset();
  EXPECT_TRUE(std::filesystem::exists(socket()));
}

}  // namespace
}  // namespace kuryr::kubelet
