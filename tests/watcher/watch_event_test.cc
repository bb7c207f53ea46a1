#include "watcher/watch_event.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace kuryr::watcher {
namespace {

std::vector<std::string> Split(LineSplitter& splitter, const std::vector<std::string>& pieces) {
  std::vector<std::string> lines;
  for (const std::string& piece : pieces) {
    splitter.Feed(piece, [&](std::string_view line) { lines.emplace_back(line); });
  }
  return lines;
}

TEST(LineSplitterTest, LinesAreTheSameWhateverTheChunks) {
  const std::string stream = "one\ntwo\r\n\n\nthree\n";
  const std::vector<std::string> expected = {"one", "two", "three"};

  for (size_t size = 1; size <= stream.size(); ++size) {
    std::vector<std::string> pieces;
    for (size_t at = 0; at < stream.size(); at += size) pieces.push_back(stream.substr(at, size));
    LineSplitter splitter;

    EXPECT_EQ(Split(splitter, pieces), expected) << size;
  }
}

TEST(LineSplitterTest, AnUnfinishedLineIsNoLine) {
  LineSplitter splitter;

  EXPECT_TRUE(Split(splitter, {"{\"type\":", "\"ADDED\""}).empty());
}

TEST(LineSplitterTest, ALineTooLongIsDroppedAndCountedAndTheNextOneIsRead) {
  LineSplitter splitter(8);

  const auto lines = Split(splitter, {"12345", "6789", "0\nshort\n", "123456789\n", "12345678\n"});

  EXPECT_EQ(lines, (std::vector<std::string>{"short", "12345678"}));
  EXPECT_EQ(splitter.too_long(), 2U);
}

TEST(WatchEventTest, TellsTheObjectAndDropsManagedFields) {
  const WatchEvent event = ParseWatchEvent(
      R"({"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"x","namespace":"default","uid":"u",)"
      R"("resourceVersion":"197","managedFields":[{"manager":"capture"}]}}})");

  EXPECT_EQ(event.type, EventType::kModified);
  EXPECT_EQ(event.kind, "Pod");
  EXPECT_EQ(event.name_space, "default");
  EXPECT_EQ(event.name, "x");
  EXPECT_EQ(event.uid, "u");
  EXPECT_EQ(event.resource_version, "197");
  EXPECT_FALSE(event.object->at("metadata").contains("managedFields"));
}

TEST(WatchEventTest, ATypeOfTheFutureIsUnknown) {
  EXPECT_EQ(ParseWatchEvent(R"({"type":"RENAMED","object":{}})").type, EventType::kUnknown);
}

TEST(WatchEventTest, WrongTypesInMetadataAreNoNames) {
  const WatchEvent event =
      ParseWatchEvent(R"({"type":"ADDED","object":{"kind":1,"metadata":{"name":["x"]}}})");

  EXPECT_EQ(event.kind, "");
  EXPECT_EQ(event.name, "");
}

TEST(WatchEventTest, WhatIsNoEventIsRefused) {
  for (const char* line :
       {"", "{", "[]", "null", R"({"type":"ADDED"})", R"({"type":"ADDED","object":null})",
        R"({"type":"ADDED","object":"Pod"})", "\xff"}) {
    EXPECT_THROW((void)ParseWatchEvent(line), ParseError) << line;
  }
  EXPECT_THROW((void)ParseWatchEvent(std::string(100'000, '[')), ParseError);
}

}  // namespace
}  // namespace kuryr::watcher
