#pragma once

#include <condition_variable>
#include <mutex>

// Clang's thread-safety attributes; empty for other compilers.
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#if defined(__clang__)
#define KURYR_TSA(x) __attribute__((x))
#else
#define KURYR_TSA(x)
#endif
#define GUARDED_BY(mutex) KURYR_TSA(guarded_by(mutex))
#define REQUIRES(mutex) KURYR_TSA(requires_capability(mutex))
#define EXCLUDES(mutex) KURYR_TSA(locks_excluded(mutex))

namespace kuryr {

/// A std::mutex for the thread-safety analysis. It meets BasicLockable, so
/// std::condition_variable_any can wait on it.
class KURYR_TSA(capability("mutex")) Mutex {
 public:
  void lock() KURYR_TSA(acquire_capability()) { mutex_.lock(); }
  void unlock() KURYR_TSA(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class KURYR_TSA(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) KURYR_TSA(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() KURYR_TSA(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace kuryr
