// Replays what a real API server sent (tests/data/apiserver-http), cut in every way that a network
// may cut it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/thread_annotations.h"
#include "tests/fake_apiserver/raw_client.h"
#include "tests/fake_apiserver/server.h"
#include "tests/support/paths.h"
#include "watcher/api_client.h"
#include "watcher/api_error.h"
#include "watcher/event_parser.h"

namespace kuryr::watcher {
namespace {

using nlohmann::json;

const std::filesystem::path kCaptures = std::filesystem::path(test::TestData()) / "apiserver-http";

std::vector<std::string> CaptureNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kCaptures)) {
    // The test CompressedAnswersAreRead has the compressed one.
    if (entry.path().extension() == ".raw" && entry.path().stem() != "list-gzip")
      names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// A client's view of an answer.
struct Outcome {
  std::vector<std::string> lines;  ///< "ADDED Pod default/x 197", or "BAD" for a line without event
  int refused = 0;                 ///< the status of an ApiError
  bool broken = false;

  bool operator==(const Outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  for (const auto& line : outcome.lines) out << line << "; ";
  return out << "refused " << outcome.refused << ", broken " << outcome.broken;
}

/// The outcome to expect, read from the bytes by other means.
Outcome Expected(const std::string& bytes) {
  Outcome expected;
  if (bytes.find("\r\n\r\n") == std::string::npos) return {.broken = true};
  const fake::RawAnswer answer = fake::ParseAnswer(bytes);
  const auto type = answer.headers.find("content-type");
  const bool is_json = type != answer.headers.end() && type->second.starts_with("application/json");
  if (answer.Status() / 100 != 2 || !is_json) {
    return {.refused = answer.Status()};
  }
  expected.broken = !answer.complete;
  std::istringstream body(answer.body);
  for (std::string line; std::getline(body, line) && !body.eof();) {
    const json event = json::parse(line, nullptr, false);
    if (!event.is_object() || !event.contains("type") || !event.contains("object")) {
      expected.lines.emplace_back("BAD");
      continue;
    }
    const json& object = event["object"];
    const json metadata = object.value("metadata", json::object());
    expected.lines.push_back(event["type"].get<std::string>() + " " + object.value("kind", "") +
                             " " + metadata.value("namespace", "") + "/" +
                             metadata.value("name", "") + " " +
                             metadata.value("resourceVersion", ""));
  }
  return expected;
}

/// The most cuts of a capture: each cut replays all bytes before it.
constexpr size_t kMostCuts = 100;

using Pieces = std::vector<std::string_view>;

/// Sends the same pieces to every client.
class ReplayServer {
 public:
  /// Sets the pieces for later connections; an abandoned connection may still get the former
  /// pieces.
  void Send(Pieces pieces) {
    const MutexLock lock(mutex_);
    pieces_ = std::make_shared<const Pieces>(std::move(pieces));
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(server_.port());
  }

 private:
  std::shared_ptr<const Pieces> pieces() {
    const MutexLock lock(mutex_);
    return pieces_;
  }
  void Serve(fake::Connection& connection) {
    const auto sent = pieces();
    while (connection.input().find("\r\n\r\n") == std::string::npos) {
      if (!connection.ReadMore()) return;
    }
    for (const std::string_view piece : *sent) {
      if (!connection.Write(piece)) return;
    }
  }

  Mutex mutex_;
  std::shared_ptr<const Pieces> pieces_ GUARDED_BY(mutex_) = std::make_shared<const Pieces>();
  fake::Server server_{"127.0.0.1", 0, std::nullopt,
                       [this](fake::Connection& connection) { Serve(connection); }};
};

class CaptureReplayTest : public ::testing::TestWithParam<std::string> {
 protected:
  /// The client's view of an answer that comes in these pieces and then ends.
  Outcome Replay(Pieces pieces) {
    constexpr std::chrono::seconds kMinute{60};
    server_.Send(std::move(pieces));
    ApiClient client({.api_root = server_.url()});
    Outcome outcome;
    LineSplitter lines;
    EventParser parser;
    try {
      client.Stream(
          "/replayed", {.lifetime = kMinute, .silence = kMinute}, [&](std::string_view bytes) {
            lines.Feed(bytes,
                       [&](std::string_view line) { outcome.lines.push_back(Told(parser, line)); });
            return true;
          });
    } catch (const ApiError& e) {
      outcome.refused = e.code();
    } catch (const ApiUnavailable&) {
      outcome.broken = true;
    }
    return outcome;
  }

  const std::string bytes_ = ReadFile(kCaptures / (GetParam() + ".raw"));
  /// The places where the reads of the capture itself ended.
  [[nodiscard]] std::vector<size_t> ReadBoundaries() const {
    std::vector<size_t> boundaries;
    std::istringstream lines(ReadFile(kCaptures / (GetParam() + ".times.jsonl")));
    for (std::string line; std::getline(lines, line);) {
      const json read = json::parse(line);
      if (!read.contains("off")) continue;  // the end of the capture
      boundaries.push_back(read["off"].get<size_t>() + read["len"].get<size_t>());
    }
    return boundaries;
  }

 private:
  static std::string Told(EventParser& parser, std::string_view line) {
    static constexpr const char* kNames[] = {"ADDED",    "MODIFIED", "DELETED",
                                             "BOOKMARK", "ERROR",    "UNKNOWN"};
    try {
      const WatchEvent event = parser.Parse(line);
      return std::string(kNames[static_cast<size_t>(event.type)]) + " " + event.kind + " " +
             event.name_space + "/" + event.name + " " + event.resource_version;
    } catch (const ParseError&) {
      return "BAD";
    }
  }

  ReplayServer server_;
};

INSTANTIATE_TEST_SUITE_P(Every, CaptureReplayTest, ::testing::ValuesIn(CaptureNames()),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(CaptureReplayTest, IsReadAsItWasSentAndByteByByte) {
  const std::string_view all = bytes_;
  const Outcome expected = Expected(bytes_);

  EXPECT_EQ(Replay({all}), expected);

  Pieces pieces;
  size_t start = 0;
  for (const size_t end : ReadBoundaries()) {
    pieces.push_back(all.substr(start, end - start));
    start = end;
  }
  EXPECT_EQ(Replay(pieces), expected);

  pieces.clear();
  for (size_t i = 0; i < all.size(); ++i) pieces.push_back(all.substr(i, 1));
  EXPECT_EQ(Replay(pieces), expected);
}

TEST_P(CaptureReplayTest, WhatCameBeforeABrokenConnectionIsHeardAndTheBreakIsNoticed) {
  const std::string_view all = bytes_;
  std::vector<size_t> ends = ReadBoundaries();
  const size_t step = std::max<size_t>(100, all.size() / kMostCuts);
  for (size_t end = step; end < all.size(); end += step) ends.push_back(end);

  for (const size_t end : ends) {
    const Outcome expected = Expected(bytes_.substr(0, end));
    ASSERT_EQ(Replay({all.substr(0, end)}), expected) << "cut after byte " << end;
  }
}

TEST(CompressedReplayTest, CompressedAnswersAreRead) {
  const std::string bytes = ReadFile(kCaptures / "list-gzip.raw");
  const std::string_view all = bytes;
  ReplayServer server;
  Pieces pieces;
  for (size_t i = 0; i < all.size(); ++i) pieces.push_back(all.substr(i, 1));
  server.Send(pieces);

  const json list = ApiClient({.api_root = server.url()}).Get("/api/v1/pods");

  EXPECT_EQ(list.at("kind"), "PodList");
  EXPECT_TRUE(list.at("items").is_array());
}

}  // namespace
}  // namespace kuryr::watcher
