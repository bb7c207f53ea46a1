#include "kubelet/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubelet/status.h"

namespace kuryr::kubelet {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

std::string Failure(const std::string& bytes) {
  FrameReader reader(8);
  try {
    reader.Add(bytes);
    return reader.Take();
  } catch (const CallError& e) {
    return e.what();
  }
}

TEST(FrameTest, AMessageHasAFlagAndItsLengthBeforeIt) {
  EXPECT_EQ(Frame("abc"), "\0\0\0\0\3abc"s);
  EXPECT_EQ(Frame(""), "\0\0\0\0\0"s);
}

TEST(FrameTest, AMessageComesInPiecesOfAnySize) {
  const std::string bytes = Frame("12345678");
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    FrameReader reader(8);
    for (size_t at = 0; at < bytes.size(); at += piece) reader.Add(bytes.substr(at, piece));
    EXPECT_EQ(reader.Take(), "12345678") << piece;
  }
}

TEST(FrameTest, WhatIsNotOneMessageIsRefused) {
  EXPECT_EQ(Failure(""), "INTERNAL: no message");
  EXPECT_EQ(Failure("\0\0\0"s), "INTERNAL: half a message");
  EXPECT_EQ(Failure("\0\0\0\0\3ab"s), "INTERNAL: half a message");
  EXPECT_EQ(Failure(Frame("a") + Frame("b")), "INTERNAL: more than one message");
  EXPECT_THAT(Failure("\1\0\0\0\3abc"s), HasSubstr("UNIMPLEMENTED: a compressed message"));
}

TEST(FrameTest, ATooLongMessageIsRefusedByItsHeaderAlone) {
  EXPECT_EQ(Failure("\0\0\0\0\x09"s),
            "RESOURCE_EXHAUSTED: a message of 9 bytes, at most 8 are taken");
  EXPECT_THAT(Failure("\0\xff\xff\xff\xff"s), HasSubstr("4294967295"));
}

}  // namespace
}  // namespace kuryr::kubelet
