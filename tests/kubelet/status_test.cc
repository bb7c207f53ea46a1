#include "kubelet/status.h"

#include <gtest/gtest.h>

namespace kuryr::kubelet {
namespace {

TEST(StatusTest, AMessageGoesOverTheWireInPrintableAscii) {
  EXPECT_EQ(PercentEncode("a b\n%\xc3\xa4"), "a b%0A%25%C3%A4");
  EXPECT_EQ(PercentDecode("a b%0A%25%C3%A4"), "a b\n%\xc3\xa4");
  EXPECT_EQ(PercentDecode("%c3%a4"), "\xc3\xa4");
}

TEST(StatusTest, WhatIsMalformedStaysAsItIs) {
  for (const char* text : {"%", "%4", "100 %", "%zz", "%+1", "a%"})
    EXPECT_EQ(PercentDecode(text), text);
}

TEST(StatusTest, AnUnknownCodeIsUnknown) {
  EXPECT_EQ(ParseStatusCode("0"), StatusCode::kOk);
  EXPECT_EQ(ParseStatusCode("16"), StatusCode::kUnauthenticated);
  for (const char* text : {"", "17", "-1", "x", "1x", "99999999999999999999"})
    EXPECT_EQ(ParseStatusCode(text), StatusCode::kUnknown) << text;
}

TEST(StatusTest, AnErrorIsPrintable) {
  EXPECT_STREQ(CallError({StatusCode::kNotFound, "no\n"}).what(), "NOT_FOUND: no\\x0a");
  EXPECT_STREQ(CallError({StatusCode::kUnavailable, ""}).what(), "UNAVAILABLE");
}

}  // namespace
}  // namespace kuryr::kubelet
