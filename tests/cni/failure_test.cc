#include "cni/failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <exception>
#include <stdexcept>
#include <system_error>

#include "base/error.h"
#include "binding/plan/attachment.h"

namespace kuryr::cni {
namespace {

ErrorCode CodeOf(const auto& failure) {
  return AsCniError(std::make_exception_ptr(failure)).code();
}

TEST(FailureTest, WhatAVifLacksIsAMalformedVif) {
  const CniError error = AsCniError(
      std::make_exception_ptr(binding::MalformedVif(ParseError("$.address", "is not set"))));

  EXPECT_EQ(error.code(), ErrorCode::kMalformedVif);
  EXPECT_EQ(error.details(), "$.address: is not set");
}

TEST(FailureTest, OtherInputThatCannotBeReadIsNoVifs) {
  EXPECT_EQ(CodeOf(ParseError("$.status", "is no exit status")), ErrorCode::kDecodeFailure);
}

TEST(FailureTest, WhatPassesIsToBeTriedAgain) {
  EXPECT_EQ(CodeOf(binding::HostInterfaceInUse("taken")), ErrorCode::kTryAgainLater);
  EXPECT_EQ(CodeOf(std::system_error(std::make_error_code(std::errc::timed_out))),
            ErrorCode::kTryAgainLater);
  EXPECT_EQ(CodeOf(std::system_error(std::make_error_code(std::errc::too_many_files_open))),
            ErrorCode::kIoFailure);
}

TEST(FailureTest, WhatNobodyExpectedIsInternal) {
  EXPECT_EQ(CodeOf(std::logic_error("never")), ErrorCode::kInternal);
  EXPECT_EQ(CodeOf(42), ErrorCode::kInternal);
}

}  // namespace
}  // namespace kuryr::cni
