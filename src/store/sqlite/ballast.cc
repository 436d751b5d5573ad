#include "store/sqlite/ballast.h"

#include <fcntl.h>
#include <unistd.h>

namespace semel::store::sqlite {

bool Ballast::hold() {
  if (held_ || !wanted()) return true;
  const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return false;
  held_ = posix_fallocate(file, 0, bytes_) == 0;
  close(file);
  if (!held_) unlink(path_.c_str());
  return held_;
}

void Ballast::release() {
  unlink(path_.c_str());
  held_ = false;
}

}  // namespace semel::store::sqlite
