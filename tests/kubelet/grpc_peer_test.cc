#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "kubelet/server.h"
#include "tests/kubelet/kubelet_fixture.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace kuryr::kubelet {
namespace {

using namespace std::chrono_literals;
using ::testing::StartsWith;

const std::string kPeer = test::SourceDir() + "/tests/kubelet/grpc_peer.py";

/// Tests with gRPC's own implementation as the peer.
class GrpcPeerTest : public KubeletTest {
 protected:
  static std::string Said(const std::vector<std::string>& words) {
    std::vector<std::string> argv = {"/usr/bin/python3", kPeer};
    argv.insert(argv.end(), words.begin(), words.end());
    const test::ProcessResult result = test::RunProgram({.argv = argv});
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  }
  [[nodiscard]] test::Process Serve() const {
    test::Process peer({.argv = {"/usr/bin/python3", kPeer, "serve", socket()}});
    peer.WaitForOutput("serving");
    return peer;
  }
};

TEST_F(GrpcPeerTest, ItsClientCallsOurServer) {
  Methods methods;
  methods.unary["/a/Echo"] = [](const std::string& request) { return request; };
  methods.unary["/a/Refuse"] = [](const std::string&) -> std::string {
    throw CallError({StatusCode::kAlreadyExists, "100 % sure"});
  };
  methods.unary["/a/Many"] = [](const std::string&) { return std::string(6 << 20, 'x'); };
  const RunningServer server(socket(), methods);

  EXPECT_EQ(Said({"call", socket(), "/a/Echo", "aGVsbG8="}), "aGVsbG8=\n");
  EXPECT_EQ(Said({"call", socket(), "/a/Refuse", ""}), "ALREADY_EXISTS 100 % sure\n");
  EXPECT_EQ(Said({"call", socket(), "/a/None", ""}), "UNIMPLEMENTED no method /a/None\n");
  EXPECT_EQ(Said({"call", socket(), "/a/Many", ""}).size(), (size_t{6} << 20) / 3 * 4 + 1);
}

TEST_F(GrpcPeerTest, ItsClientWatchesOurStream) {
  std::vector<std::shared_ptr<AnswerStream>> streams;
  Methods methods;
  methods.streaming["/a/Watch"] = [&](const std::string&, std::shared_ptr<AnswerStream> stream) {
    stream->Send("first");
    streams.push_back(std::move(stream));
  };
  const RunningServer server(socket(), methods, {}, [&] {
    for (const auto& stream : streams) stream->Send("news");
  });
  test::Process peer({.argv = {"/usr/bin/python3", kPeer, "watch", socket(), "/a/Watch", "2"}});
  peer.WaitForOutput("Zmlyc3Q=");

  server.Wake();

  EXPECT_EQ(peer.Wait().out, "Zmlyc3Q=\nbmV3cw==\n");
}

TEST_F(GrpcPeerTest, ItsClientGivesUpAtItsDeadline) {
  Methods methods;
  methods.streaming["/a/Never"] = [](const std::string&, const std::shared_ptr<AnswerStream>&) {};
  const RunningServer server(socket(), methods);

  // The server knows the deadline as well: whichever side is first, the error is the same.
  EXPECT_THAT(Said({"call", socket(), "/a/Never", "", "0.2"}), StartsWith("DEADLINE_EXCEEDED "));
}

TEST_F(GrpcPeerTest, OurClientCallsItsServer) {
  const test::Process peer = Serve();

  EXPECT_EQ(Call(Request("/a/Echo", "hello"), Soon()), "hello");
  EXPECT_EQ(Outcome(Request("/a/Refuse", "50 % \xc3\xa4")), "FAILED_PRECONDITION: 50 % \\xc3\\xa4");
  EXPECT_EQ(Outcome(Request("/a/None")), "UNIMPLEMENTED: Method not found!");
  EXPECT_EQ(Call(Request("/a/Many", "6000000"), Soon()).size(), 6'000'000U);
}

TEST_F(GrpcPeerTest, OurClientTellsItsServerTheDeadline) {
  test::Process peer = Serve();

  EXPECT_EQ(Outcome(Request("/a/Sleep"), Deadline::After(300ms)).substr(0, 17),
            "DEADLINE_EXCEEDED");
  peer.WaitForOutput("left");
}

TEST_F(GrpcPeerTest, AServerThatIsKilledIsUnavailable) {
  test::Process peer = Serve();
  UnaryCall call(Request("/a/Sleep"), Soon());
  ASSERT_FALSE(call.Advance());

  peer.Signal(9);
  while (!call.Advance()) {
    pollfd ready{.fd = call.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&ready, 1, 20'000), 1);
  }

  try {
    (void)call.TakeAnswer();
    ADD_FAILURE();
  } catch (const CallError& e) {
    EXPECT_EQ(e.status().code, StatusCode::kUnavailable);
  }
}

}  // namespace
}  // namespace kuryr::kubelet
