// Space held back for the day the disk is full: deleting rows needs room in the WAL first, and so does reading after a
// crash. Any process may give it up, so whether it is there is asked of the disk. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace semel::store::sqlite {

class Ballast {
 public:
  Ballast(std::string path, std::int64_t bytes) : path_(std::move(path)), bytes_(bytes) {}

  // Makes the file, with its blocks allocated. False: there is no room.
  bool hold();
  // Gives the space up. False: there was none.
  bool release();
  bool held() const;
  bool wanted() const { return bytes_ > 0; }

 private:
  const std::string path_;
  const std::int64_t bytes_;
};

}  // namespace semel::store::sqlite
