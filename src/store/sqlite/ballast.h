// Space held back for the day the disk is full: deleting rows needs room in the WAL first.
#pragma once

#include <cstdint>
#include <string>

namespace semel::store::sqlite {

class Ballast {
 public:
  Ballast(std::string path, std::int64_t bytes) : path_(std::move(path)), bytes_(bytes) {}

  // Makes the file, with its blocks allocated. False: there is no room.
  bool hold();
  // Gives the space up.
  void release();
  bool held() const { return held_; }
  bool wanted() const { return bytes_ > 0; }

 private:
  const std::string path_;
  const std::int64_t bytes_;
  bool held_ = false;
};

}  // namespace semel::store::sqlite
