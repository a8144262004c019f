// SPDX-License-Identifier: GPL-2.0-or-later
// A mutex that clang can check (-Wthread-safety): what it guards is said where the field stands.
#pragma once

#include <mutex>

#if defined(__clang__)
#define MARKET_GUARDED_BY(mutex) __attribute__((guarded_by(mutex)))
#define MARKET_LOCK_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define MARKET_GUARDED_BY(mutex)
#define MARKET_LOCK_ATTRIBUTE(attribute)
#endif

namespace market {

class MARKET_LOCK_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() MARKET_LOCK_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() MARKET_LOCK_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// Holds a mutex for as long as it lives.
class MARKET_LOCK_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) MARKET_LOCK_ATTRIBUTE(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() MARKET_LOCK_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace market
