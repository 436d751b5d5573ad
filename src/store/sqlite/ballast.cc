// The file that only takes up room.
#include "store/sqlite/ballast.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace semel::store::sqlite {

bool Ballast::held() const {
  struct stat about{};
  return stat(path_.c_str(), &about) == 0 && about.st_size >= bytes_;
}

bool Ballast::hold() {
  if (!wanted() || held()) return true;
  const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return false;
  const bool held = posix_fallocate(file, 0, bytes_) == 0;
  close(file);
  if (!held) unlink(path_.c_str());
  return held;
}

bool Ballast::release() { return unlink(path_.c_str()) == 0; }

}  // namespace semel::store::sqlite
