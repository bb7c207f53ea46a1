#pragma once

#include <gtest/gtest.h>

#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
#define KURYR_CHECKS_OPEN_DESCRIPTORS
#endif
#endif

/// Before it calls a virtual function, UndefinedBehaviorSanitizer looks at the object through a
/// pipe.
#ifdef KURYR_CHECKS_OPEN_DESCRIPTORS
#define SKIP_WHERE_CHECKS_OPEN_DESCRIPTORS() \
  GTEST_SKIP() << "SKIPPED: the sanitizer needs descriptors; lane limits has none"
#else
#define SKIP_WHERE_CHECKS_OPEN_DESCRIPTORS() static_cast<void>(0)
#endif
