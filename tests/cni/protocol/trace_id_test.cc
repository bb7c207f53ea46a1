#include "cni/protocol/trace_id.h"

#include <gtest/gtest.h>

namespace kuryr::cni {
namespace {

const std::string kId = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kParent = "00f067aa0ba902b7";
const std::string kTraceparent = "00-" + kId + "-" + kParent + "-01";

TEST(TraceIdTest, IsThatOfATraceparentOfAnyVersion) {
  EXPECT_EQ(TraceIdOf(kTraceparent), kId);
  EXPECT_EQ(TraceIdOf("01-" + kId + "-" + kParent + "-00"), kId);
  EXPECT_EQ(TraceIdOf("cc-" + kId + "-" + kParent + "-01-what-comes"), kId);
}

TEST(TraceIdTest, OfAMalformedTraceparentThereIsNone) {
  const std::string zeros(32, '0');
  for (const std::string& text : {
           std::string(),
           std::string("00"),
           std::string("00---"),
           std::string(55, '-'),
           std::string(55, '0'),
           std::string(100'000, 'a'),
           std::string(55, '\0'),
           kTraceparent + "-",
           kTraceparent + "-more",
           kTraceparent + " ",
           " " + kTraceparent,
           "ff-" + kId + "-" + kParent + "-01",
           "cc-" + kId + "-" + kParent + "-01.more",
           "0x-" + kId + "-" + kParent + "-01",
           "00-" + zeros + "-" + kParent + "-01",
           "00-" + kId + "-" + zeros.substr(0, 16) + "-01",
           "00-" + kId + "-" + kParent + "-0g",
           "00-" + kId.substr(1) + "-" + kParent + "-001",
           "00-" + kId.substr(1) + "F-" + kParent + "-01",
           "00-" + kId.substr(1) + "\n-" + kParent + "-01",
           "00_" + kId + "-" + kParent + "-01",
           "00-" + kId + "_" + kParent + "-01",
           "00-" + kId + "-" + kParent + "_01",
       }) {
    EXPECT_EQ(TraceIdOf(text), std::nullopt) << text;
  }
}

TEST(TraceIdTest, ANewOneIsAnotherOne) {
  const std::string id = NewTraceId();

  EXPECT_TRUE(IsTraceId(id)) << id;
  EXPECT_NE(NewTraceId(), id);
}

}  // namespace
}  // namespace kuryr::cni
