// One writing process per file. The lock is the kernel's (it ends with the process); the text in the file says who
// holds it.
#pragma once

#include <string>

#include "semel/result.h"
#include "semel/time.h"

namespace semel::store::sqlite {

class OwnerLock {
 public:
  // Waits up to `wait` for the lock of `database`, then StoreBusy naming the owner.
  static Result<OwnerLock> take(const std::string& database, const std::string& reach, Duration wait);

  OwnerLock(OwnerLock&& other) noexcept;
  OwnerLock& operator=(OwnerLock&&) = delete;
  // Marks the file as cleanly closed and lets the next owner in.
  ~OwnerLock();

  // The owner before this one did not close the store: it was killed or lost power.
  bool follows_crash() const { return follows_crash_; }

 private:
  OwnerLock(int file, bool follows_crash) : file_(file), follows_crash_(follows_crash) {}
  int file_;
  bool follows_crash_;
};

}  // namespace semel::store::sqlite
